# Two images: `croupier`, the server in all its roles, and `player`, which has the player kit and
# nothing of the server.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS wheels
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY constraints.txt ./
# The distributions are built with the versions that constraints.txt has, so not in isolation.
RUN pip install --constraint constraints.txt hatchling
COPY common common
COPY client client
COPY server server
RUN pip wheel --constraint constraints.txt --no-build-isolation --wheel-dir wheels \
    ./common ./client './server[cluster,traces]'

FROM python:${PYTHON}-slim AS base
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin croupier \
    && install --directory --owner=croupier --group=croupier /data
WORKDIR /data

FROM base AS player
RUN --mount=type=bind,from=wheels,source=/build/wheels,target=/wheels \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    pip install --no-index --find-links /wheels --constraint /constraints.txt --compile \
    croupier-client
USER croupier
ENTRYPOINT ["penguin"]
CMD ["--help"]

FROM base AS croupier
RUN --mount=type=bind,from=wheels,source=/build/wheels,target=/wheels \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    pip install --no-index --find-links /wheels --constraint /constraints.txt --compile \
    'croupier-server[cluster,traces]'
USER croupier
VOLUME /data
EXPOSE 8000
# For `croupier serve`, as below; a compose file has others for the roles of a cluster.
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=2).close()"]
ENTRYPOINT ["croupier"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--records", "/data"]
