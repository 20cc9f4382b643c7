// The directory's page: lists rooms every few seconds and asks for a token.

const PERIOD_MS = 4000;

const element = (id) => document.getElementById(id);
/** @type {{ relay: string, room: string } | null} */
let chosen = null;
/** The last list, to leave the table alone while nothing changes. */
let shown = "";

/** A cell with text. */
function cell(text) {
  const cell = document.createElement("td");
  cell.textContent = text;
  return cell;
}

/** A row for a room; without a room, for a new one at a relay that lets players open rooms. */
function row(relay, room) {
  const row = document.createElement("tr");
  const button = document.createElement("button");
  const full = room !== null && room.players >= room.players_max;
  button.type = "button";
  button.textContent = room === null ? "Open" : full ? "Full" : "Join";
  button.disabled = full;
  button.setAttribute("aria-label", room === null ? `Open a room at ${relay.name}` : `Join ${room.name} at ${relay.name}`);
  button.addEventListener("click", () => choose(relay.name, room?.name ?? null));
  const last = document.createElement("td");
  last.append(button);
  const players = room === null ? "" : `${room.players} / ${room.players_max}`;
  row.append(cell(room?.name ?? "a new room"), cell(relay.name), cell(players), cell(relay.address), last);
  return row;
}

/** Opens the form for a room, or for a new one. */
function choose(relay, room) {
  chosen = { relay, room };
  element("joining").hidden = false;
  element("join").textContent = room === null ? `Open a room at ${relay}` : `Join ${room} at ${relay}`;
  element("opening").hidden = room !== null;
  element("room").required = room === null;
  element("ticket").hidden = true;
  say("");
  element(room === null ? "room" : "name").focus();
}

function say(text, isBad = false) {
  element("outcome").textContent = text;
  element("outcome").classList.toggle("bad", isBad);
}

/** Shows the list. */
function show(listing) {
  const text = JSON.stringify(listing.relays.map(({ expires_in_s, ...relay }) => relay));
  if (text === shown) return;
  shown = text;
  const rooms = listing.relays.flatMap((relay) => relay.rooms.map((room) => ({ relay, room })));
  const open = listing.relays.filter((relay) => relay.open).map((relay) => ({ relay, room: null }));
  element("relays").textContent = listing.relays.length;
  element("rooms").textContent = rooms.length;
  element("players").textContent = rooms.reduce((sum, { room }) => sum + room.players, 0);
  element("table").hidden = rooms.length + open.length === 0;
  element("empty").hidden = listing.relays.length > 0;
  element("rows").replaceChildren(...[...rooms, ...open].map(({ relay, room }) => row(relay, room)));
}

async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch("api/relays");
      if (!answer.ok) throw new Error((await answer.json()).error);
      show(await answer.json());
      element("state").textContent = "Relays stay listed as long as they register.";
      element("header").classList.remove("lost");
    } catch (error) {
      element("state").textContent = error instanceof TypeError
        ? "The directory does not answer. This page goes on when it does."
        : error.message;
      element("header").classList.add("lost");
    }
  }
  setTimeout(refresh, PERIOD_MS);
}

element("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!chosen) return;
  const relay = chosen.relay;
  const room = chosen.room ?? element("room").value.trim();
  const path = `api/relays/${encodeURIComponent(relay)}/rooms/${encodeURIComponent(room)}/join`;
  const body = JSON.stringify({ name: element("name").value.trim() });
  try {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const ticket = await answer.json();
    element("ticket").hidden = !answer.ok;
    if (!answer.ok) return say(ticket.error, true);
    say(`Welcome, ${ticket.name}. Nobody else can have this name until the token expires.`);
    element("url").textContent = ticket.url;
    element("token").textContent = ticket.token;
    element("until").textContent = new Date(1000 * ticket.expires_at).toLocaleString();
  } catch {
    say("The directory does not answer: try again.", true);
  }
});

element("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(element("token").textContent);
  element("copy").textContent = "Copied";
  setTimeout(() => { element("copy").textContent = "Copy"; }, 1500);
});

refresh();
