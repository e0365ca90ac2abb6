// The shortest player: it asks the server for all legal actions and takes any of them.
//
//     node beginner.mjs ws://127.0.0.1:8000 Pingu

import WebSocket from "ws";

const [url = "ws://127.0.0.1:8000", name = "Pingu"] = process.argv.slice(2);
const socket = new WebSocket(url);
const send = (message) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));

socket.on("open", () => {
  send({ id: 1, method: "join", params: { protocol: 1, name, legal_actions: true } });
});

socket.on("message", (text) => {
  const message = JSON.parse(text);
  if (message.method && message.id !== undefined) {
    const actions = message.params.legal_actions;
    // Choose better than this, and you have a player of your own.
    const result = actions ? actions[Math.floor(Math.random() * actions.length)] : true;
    send({ id: message.id, result });
  } else {
    console.log(String(text));
  }
});

socket.on("error", (problem) => console.error(problem.message));
socket.on("close", (code, reason) => console.log(`closed: ${code} ${reason}`));
