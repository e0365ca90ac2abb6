import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A player that connects over WebSocket. It has the server list the legal actions, chooses the one
 * from which it can go on best, and comes back to its session when a connection was lost.
 */
public final class Player implements WebSocket.Listener {
    /** By direction, a step from an even row and from an odd row, which are shifted right. */
    private static final int[][][] DIRECTIONS = {
        {{-2, 0}, {-2, 0}}, {{-1, 0}, {-1, 1}}, {{1, 0}, {1, 1}},
        {{2, 0}, {2, 0}}, {{1, -1}, {1, 0}}, {{-1, -1}, {-1, 0}},
    };

    /** After these codes there is no coming back: over, stopped, ejected, refused, replaced. */
    private static final Set<Integer> FOR_GOOD = Set.of(1000, 1001, 4000, 4001, 4002);

    private static final int TRIES = 10;

    // ---- The choice

    private static List<?> choose(Map<?, ?> params) {
        var state = (Map<?, ?>) params.get("state");
        List<?> best = null;
        double most = Double.NEGATIVE_INFINITY;
        for (Object action : (List<?>) params.get("legal_actions")) {
            double worth = worth(state, (List<?>) action);
            if (worth > most) {
                most = worth;
                best = (List<?>) action;
            }
        }
        return best;
    }

    /** The fish that we get, and those that we can go on to. */
    private static double worth(Map<?, ?> state, List<?> action) {
        var board = (List<?>) state.get("board");
        if (action.get(0) instanceof Long) { // a placement is a position, a move two of them
            return 8 * fishAt(board, number(action, 0), number(action, 1)) + beyond(state, action);
        }
        var from = (List<?>) action.get(0);
        var to = (List<?>) action.get(1);
        return fishAt(board, number(from, 0), number(from, 1))
                + fishAt(board, number(to, 0), number(to, 1))
                + 0.1 * beyond(state, to);
    }

    /** All the fish that a penguin could reach from a tile. */
    private static long beyond(Map<?, ?> state, List<?> from) {
        var board = (List<?>) state.get("board");
        var taken = new HashSet<Object>();
        for (Object player : (List<?>) state.get("players")) {
            taken.addAll((List<?>) ((Map<?, ?>) player).get("penguins"));
        }
        long fish = 0;
        for (int[][] steps : DIRECTIONS) {
            int row = number(from, 0), column = number(from, 1);
            while (true) {
                int[] step = steps[row % 2];
                row += step[0];
                column += step[1];
                long here = fishAt(board, row, column);
                if (here == 0 || taken.contains(List.of((long) row, (long) column))) break;
                fish += here;
            }
        }
        return fish;
    }

    /** The fish on a tile; 0 for a hole, and outside of the board. */
    private static long fishAt(List<?> board, int row, int column) {
        if (row < 0 || row >= board.size()) return 0;
        var tiles = (List<?>) board.get(row);
        return column < 0 || column >= tiles.size() ? 0 : (Long) tiles.get(column);
    }

    private static int number(List<?> numbers, int index) {
        return ((Long) numbers.get(index)).intValue();
    }

    // ---- The answers

    private static final Map<String, String> answers = new HashMap<>(); // by id: what we replied
    private static final Map<String, Object> lastEvent = new HashMap<>(); // by running game
    private static String session; // takes our place up again

    private static String replyTo(Map<?, ?> request) {
        var reply = new HashMap<String, Object>(Map.of("jsonrpc", "2.0", "id", request.get("id")));
        switch ((String) request.get("method")) {
            case "place", "move" -> reply.put("result", choose((Map<?, ?>) request.get("params")));
            case "tournament_start", "game_start", "tournament_end" -> reply.put("result", true);
            default -> reply.put("error", Map.of("code", -32601, "message", "no such method"));
        }
        return Json.write(reply);
    }

    private static void note(Object method, Map<?, ?> params) {
        var game = (String) params.get("game");
        if ("game_end".equals(method)) {
            lastEvent.remove(game);
        } else if (params.get("events") instanceof List<?> events && !events.isEmpty()) {
            lastEvent.put(game, ((Map<?, ?>) events.get(events.size() - 1)).get("seq"));
        } else if ("game_start".equals(method)) {
            lastEvent.put(game, 0L);
        } else if ("ejected".equals(method)) {
            System.err.println("out: " + params.get("detail"));
        }
    }

    // ---- The connection

    private final StringBuilder received = new StringBuilder(); // a message may come in pieces
    private final CompletableFuture<Integer> closed = new CompletableFuture<>();

    @Override
    public void onOpen(WebSocket socket) {
        var params = new HashMap<String, Object>(
                Map.of("protocol", 1, "name", "Duke", "legal_actions", true));
        if (session != null) params.putAll(Map.of("session", session, "last_event", lastEvent));
        var join = Map.of("jsonrpc", "2.0", "id", "join", "method", "join", "params", params);
        socket.sendText(Json.write(join), true);
        socket.request(1);
    }

    @Override
    public CompletionStage<?> onText(WebSocket socket, CharSequence piece, boolean isLast) {
        received.append(piece);
        CompletionStage<?> sent = null;
        if (isLast) {
            String text = received.toString();
            received.setLength(0);
            sent = take(socket, (Map<?, ?>) Json.read(text));
        }
        socket.request(1);
        return sent;
    }

    private CompletionStage<?> take(WebSocket socket, Map<?, ?> message) {
        if (message.get("params") instanceof Map<?, ?> params) note(message.get("method"), params);
        if (message.get("method") != null && message.get("id") instanceof String id) {
            // The same request gets the same reply, however often it comes.
            return socket.sendText(answers.computeIfAbsent(id, key -> replyTo(message)), true);
        }
        if (message.get("result") instanceof Map<?, ?> result) session = (String) result.get("session");
        if (message.get("error") != null) System.err.println("refused: " + message.get("error"));
        return null;
    }

    @Override
    public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
        closed.complete(code);
        return null;
    }

    @Override
    public void onError(WebSocket socket, Throwable problem) {
        System.err.println(problem);
        closed.complete(-1);
    }

    /** Play until it is over; a second connection takes the session up again. */
    public static void main(String[] arguments) throws InterruptedException {
        var url = URI.create(arguments.length > 0 ? arguments[0] : System.getenv("CROUPIER_URL"));
        var client = HttpClient.newHttpClient();
        for (int failures = 0; failures < TRIES; failures++) {
            var player = new Player();
            try {
                client.newWebSocketBuilder().buildAsync(url, player).join();
                int code = player.closed.join();
                if (FOR_GOOD.contains(code)) System.exit(code == 1000 ? 0 : 1);
            } catch (RuntimeException problem) {
                System.err.println(problem.getMessage());
            }
            Thread.sleep(100 * (failures + 1));
        }
        System.exit(1);
    }
}
