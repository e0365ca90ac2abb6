// Charts of a game, as drawings: fish over time, and how long the players thought.

const WIDTH = 600;
const HEIGHT = 200;
const LEFT = 56;
const RIGHT = 30;
const TOP = 12;
const BOTTOM = 28;
const MARK = 17; // how far apart two letters are
const MARKS = { red: "R", white: "W", brown: "N", black: "B" };

/** The fish of each player after each ply; the line at `ply` says where the board stands. */
export function fishChart(positions, ply) {
  const most = Math.max(1, ...positions.flatMap((one) => one.players.map(({ fish }) => fish)));
  const [x, y] = [acrossOf(positions), downOf(most)];
  const lines = positions[0].players.map(({ color }, seat) => {
    const corners = positions.map((one, at) => `${x(at)} ${y(one.players[seat].fish)}`);
    return ["path", { class: `line ${color}`, d: `M${corners.join("L")}` }];
  });
  const now = positions[ply].players.map(({ color, fish }) => `${color} ${fish}`).join(", ");
  return chart(`Fish after ply ${ply}: ${now}`, [
    ...axis(most, positions, "fish"),
    ["path", { class: "now", d: `M${x(ply)} ${TOP}V${HEIGHT - BOTTOM}` }],
    ...lines,
    ...endMarks(positions, x, y),
  ]);
}

/** How long each answer took, a bar for each ply. */
export function thinkChart(positions, ply) {
  const answers = positions.filter(isAnswer);
  const most = Math.max(1, ...answers.map(thinkOf));
  const x = acrossOf(positions);
  const wide = Math.max(1, Math.min(14, (WIDTH - LEFT - RIGHT) / positions.length - 1));
  const bars = answers.map((one) => {
    const height = Math.max(1, downOf(most)(0) - downOf(most)(thinkOf(one)));
    return ["rect", {
      class: `bar ${one.last.color}`,
      x: rounded(x(one.ply) - wide / 2),
      y: rounded(HEIGHT - BOTTOM - height),
      width: rounded(wide),
      height: rounded(height),
    }];
  });
  const longest = answers.find((one) => thinkOf(one) === most);
  const said = longest
    ? `Think times, at most ${most} ms, by ${longest.last.color} at ply ${longest.ply}`
    : "No think times are known";
  return chart(said, [
    ...axis(most, positions, "ms"),
    ["path", { class: "now", d: `M${x(ply)} ${TOP}V${HEIGHT - BOTTOM}` }],
    ...bars,
  ]);
}

/** The ply that is nearest to a place across a chart, given as a share of its width. */
export function plyAt(share, positions) {
  const inside = (share * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
  return Math.round(Math.min(1, Math.max(0, inside)) * (positions.length - 1));
}

function isAnswer(position) {
  return position.last !== null && Number.isSafeInteger(position.obs.think_ms);
}

function thinkOf(position) {
  return Math.max(0, position.obs.think_ms);
}

function chart(said, parts) {
  const viewBox = `0 0 ${WIDTH} ${HEIGHT}`;
  return ["svg", { class: "chart", viewBox, role: "img", "aria-label": said }, ...parts];
}

function acrossOf(positions) {
  const step = (WIDTH - LEFT - RIGHT) / Math.max(1, positions.length - 1);
  return (ply) => rounded(LEFT + ply * step);
}

function downOf(most) {
  return (value) => rounded(HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM));
}

function axis(most, positions, unit) {
  const bottom = String(HEIGHT - BOTTOM);
  const end = `ply ${positions.length - 1}`;
  return [
    ["path", { class: "axis", d: `M${LEFT} ${TOP}V${bottom}H${WIDTH - RIGHT}` }],
    ["text", { class: "tick y", x: String(LEFT - 6), y: String(TOP + 9) }, shortened(most)],
    ["text", { class: "tick y", x: String(LEFT - 6), y: bottom }, "0"],
    ["text", { class: "tick y", x: String(LEFT - 6), y: String(TOP + 28) }, unit],
    ["text", { class: "tick", x: String(LEFT), y: String(HEIGHT - 8) }, "0"],
    ["text", { class: "tick x", x: String(WIDTH - RIGHT), y: String(HEIGHT - 8) }, end],
  ];
}

/** A letter at the end of each line; those that would lie on one another are moved apart. */
function endMarks(positions, x, y) {
  const last = positions.at(-1);
  let lowest = -Infinity;
  return [...last.players]
    .sort((one, other) => other.fish - one.fish)
    .map(({ color, fish }, at, all) => {
      const room = HEIGHT - 4 - MARK * (all.length - 1 - at); // the others must fit below
      const down = Math.min(Math.max(y(fish) + 5, lowest + MARK), room);
      lowest = down;
      const place = { x: rounded(x(last.ply) + 6), y: rounded(down) };
      return ["text", { class: "tick mark", ...place }, MARKS[color]];
    });
}

function shortened(value) {
  return value < 10000 ? String(value) : `${Math.round(value / 1000)}k`;
}

function rounded(value) {
  return Math.round(value * 10) / 10;
}
