// What doesn't fit on a page as it is now, in words: an expression for a browser to evaluate.
() => {
  const SLACK = 1.5; // pixels: edges are seldom whole
  const root = document.documentElement;
  const found = [];

  const named = (element) => {
    const { tagName, id, className } = element;
    const classes = typeof className === "string" && className ? `.${className.replaceAll(" ", ".")}` : "";
    return `${tagName.toLowerCase()}${id && `#${id}`}${classes} ${JSON.stringify(element.textContent.trim().slice(0, 30))}`;
  };
  const isShown = (element) =>
    element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    !element.closest(".hidden, .skip:not(:focus), svg svg, svg > *");
  const ancestorsOf = (element) => {
    const all = [];
    for (let one = element; one && one !== root && one !== document.body; one = one.parentElement) all.push(one);
    return all;
  };
  const clips = (style, axis) => style[`overflow${axis}`] !== "visible";
  const scrolls = (style, axis) => ["auto", "scroll"].includes(style[`overflow${axis}`]);
  const textsOf = (element) => [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());

  function rectsOf(node) {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()].filter(({ width, height }) => width > 0 && height > 0);
  }

  /** The part of a rectangle that is left where ancestors clip it; null if nothing is. */
  function visible(rect, element) {
    let { left, top, right, bottom } = rect;
    for (const one of ancestorsOf(element.parentElement)) {
      const style = getComputedStyle(one);
      const box = one.getBoundingClientRect();
      if (clips(style, "X")) [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      if (clips(style, "Y")) [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    return right - left > 0 && bottom - top > 0 ? { left, top, right, bottom } : null;
  }

  /** Whether a box is seen as one: by its border or its background. */
  function isDrawn(style) {
    const border = Number.parseFloat(style.borderLeftWidth) + Number.parseFloat(style.borderRightWidth);
    return border > 0 || !/transparent|rgba\(0, 0, 0, 0\)/.test(style.backgroundColor);
  }

  /** What happens to a line of text on its way out of the boxes around it. */
  function textFault(rect, element) {
    for (const one of ancestorsOf(element)) {
      const style = getComputedStyle(one);
      if (style.display === "inline" || style.display === "contents") continue;
      const box = one.getBoundingClientRect();
      const isWide = rect.left < box.left - SLACK || rect.right > box.right + SLACK;
      const isTall = rect.top < box.top - SLACK || rect.bottom > box.bottom + SLACK;
      const isAway = rect.bottom <= box.top + SLACK || rect.top >= box.bottom - SLACK;
      if (isTall && style.overflowY === "hidden" && !isAway) return `is cut by ${named(one)}`;
      if (isTall && clips(style, "Y")) return null; // scrolled away, or a line that is not shown
      if (!isWide) continue;
      if (scrolls(style, "X") || style.textOverflow === "ellipsis") return null;
      if (clips(style, "X")) return `is cut by ${named(one)}`;
      if (isDrawn(style)) return `sticks out of ${named(one)}`;
    }
    return rect.left < -SLACK || rect.right > root.clientWidth + SLACK ? "is outside of the window" : null;
  }

  const shown = [...document.body.querySelectorAll("*")].filter(isShown);

  if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} wide, the window ${root.clientWidth}`);

  for (const element of shown) {
    for (const node of textsOf(element)) {
      const fault = rectsOf(node).map((rect) => textFault(rect, element)).find(Boolean);
      if (fault) found.push(`the text of ${named(element)} ${fault}`);
    }
    const part = visible(element.getBoundingClientRect(), element);
    if (part && (part.left < -SLACK || part.right > root.clientWidth + SLACK)) found.push(`${named(element)} is outside of the window`);
  }

  const used = shown.filter((one) => one.matches("a[href], button, input, select, textarea, summary, [tabindex]"));
  const places = used.map((one) => [one, [...one.getClientRects()].map((rect) => visible(rect, one)).filter(Boolean)]);
  places.forEach(([one, ours], at) => {
    for (const [other, theirs] of places.slice(at + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      const isOver = ours.some((a) =>
        theirs.some(
          (b) =>
            Math.min(a.right, b.right) - Math.max(a.left, b.left) > SLACK &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > SLACK,
        ),
      );
      if (isOver) found.push(`${named(one)} and ${named(other)} overlap`);
    }
  });
  return found;
}
