// Keeps the console live, and a pending receipt with it. The pages work without.
"use strict";
const list = document.querySelector("[data-live]");
const receipt = document.querySelector(".receipt.wait[data-event]");
if (list || receipt) {
  const source = new EventSource("/console/live");
  source.onmessage = (message) => {
    const lines = document.createElement("ol");
    lines.innerHTML = JSON.parse(message.data); // the server's own template, escaped there
    const done = receipt && receipt.dataset.event && lines.querySelector(`[data-event="${CSS.escape(receipt.dataset.event)}"][data-done]`);
    if (done) {
      receipt.textContent = `In the index now, after ${done.dataset.done} ms`;
      receipt.className = "receipt ok";
    }
    if (list) list.replaceChildren(...lines.childNodes);
  };
}
