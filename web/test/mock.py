#!/usr/bin/env python3
"""A pretended arena for work on the page: serves web/ and its API on 127.0.0.1, with bots that drive and shoot.

    python3 web/test/mock.py --port 8123        then open http://127.0.0.1:8123/?mock

Positions, errors and hits are reckoned from what drives here; who is sent what is only a caricature of the policies: each
choice holds vectors back by a time of its own. No figure of this file says anything about the product.
"""

import argparse
import json
import math
import random
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

WEB = Path(__file__).resolve().parent.parent
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HALF = (64.0, 44.0)
BLOCKS = [(-30, 20, 6, 5), (2, 26, 3, 9), (34, 16, 5, 4), (-8, -4, 4, 4), (26, -14, 7, 4), (-38, -18, 4, 8), (-2, -30, 8, 3)]
CHOICES = [("base", "without us"), ("papers", "the papers' best"), ("even", "even")]
STEP = 0.02
BOTS = [("Ada", 200, 20), ("Bo", 80, 10), ("Cy", 20, 4), ("Dee", 130, 12)]
HUMAN = len(BOTS) + 1


def is_free(x, y, room=3.4):
    inside = abs(x) < HALF[0] - room and abs(y) < HALF[1] - room
    return inside and all(abs(x - bx) > hx + room or abs(y - by) > hy + room for bx, by, hx, hy in BLOCKS)


def is_open(x, y):
    return is_free(x, y, 0.0)


class Entity:
    """Something that moves, with the vectors that its owner has made of it."""

    def __init__(self, x, y, heading, speed=0.0):
        self.x, self.y, self.heading, self.speed, self.turn = x, y, heading, speed, 0.0
        self.vectors = []

    def tell(self, now):
        if self.vectors:
            generated, x, y, vx, vy = self.vectors[-1]
            age = now - generated
            if age < 1 and math.hypot(x + vx * age - self.x, y + vy * age - self.y) < 0.09:
                return
        velocity = (math.cos(self.heading) * self.speed, math.sin(self.heading) * self.speed)
        self.vectors.append((now, self.x, self.y, *velocity))
        del self.vectors[:-200]

    def shown(self, now, behind):
        for vector in reversed(self.vectors):
            if vector[0] <= now - behind:
                return vector
        return self.vectors[0] if self.vectors else None


def place(vector, now):
    generated, x, y, vx, vy = vector
    return x + vx * (now - generated), y + vy * (now - generated)


class Player:
    def __init__(self, name, delay, jitter, is_bot=True):
        self.name, self.delay, self.jitter, self.is_bot = name, delay, jitter, is_bot
        self.tank, self.shots, self.back = None, {}, 0.0
        self.wish, self.until, self.reload = (20.0, 0.0), 0.0, 2.0
        self.errors, self.without, self.total, self.sent = [], [], 0.0, 0
        self.hits, self.losses, self.said = 0, 0, 0.0


class World:
    def __init__(self, seed):
        self.draws = random.Random(seed)
        self.players = {number + 1: Player(*bot) for number, bot in enumerate(BOTS)}
        self.choice, self.began = "base", time.monotonic()
        self.now, self.news, self.looked = 0.0, [], 0.0

    def advance(self):
        until = time.monotonic() - self.began
        self.now = max(self.now, until - 5)
        while self.now + STEP <= until:
            self.now += STEP
            self.turn()

    def turn(self):
        for number, player in list(self.players.items()):
            if not player.is_bot and self.now - player.said > 3:
                del self.players[number]
            elif player.tank is None and self.now >= player.back:
                self.start(number, player)
            elif player.is_bot and player.tank:
                self.drive(player)
        for number, player in self.players.items():
            if player.is_bot:
                self.fly(player)
        self.judge()
        if self.now - self.looked >= 0.1:
            self.looked = self.now
            self.measure()

    def start(self, number, player):
        while True:
            x, y = self.draws.uniform(-60, 60), self.draws.uniform(-40, 40)
            if is_free(x, y):
                break
        heading = math.atan2(-y, -x)
        if player.is_bot:
            player.tank = Entity(x, y, heading)
        else:
            player.back = self.now + 3600
            self.say(number, b"\x47\x00" + struct.pack("<ddd", x, y, heading))

    def drive(self, player):
        tank = player.tank
        if self.now >= player.until:
            player.until = self.now + 0.3 + self.draws.expovariate(1 / 1.2)
            speed = self.draws.choice([25, 25, 25, 18, 0, -10])
            player.wish = (speed, self.draws.choice([0, 0, 0.78, -0.78, 0.4, -0.4]))
        speed, turn = player.wish
        ahead = 10 if tank.speed >= 0 else -7
        if not is_free(tank.x + ahead * math.cos(tank.heading), tank.y + ahead * math.sin(tank.heading)):
            speed, turn = (6 if tank.speed >= 0 else -6), 0.78
        tank.speed += max(-20 * STEP, min(20 * STEP, speed - tank.speed))
        tank.turn += max(-STEP, min(STEP, turn - tank.turn))
        tank.heading += tank.turn * STEP
        x, y = tank.x + math.cos(tank.heading) * tank.speed * STEP, tank.y + math.sin(tank.heading) * tank.speed * STEP
        if is_free(x, y, 2.6):
            tank.x, tank.y = x, y
        else:
            tank.speed, player.wish, player.until = 0.0, (-10.0 if tank.speed > 0 else 12.0, 0.5), self.now + 0.8
        tank.tell(self.now)
        player.reload -= STEP
        if player.reload <= 0 and 1 not in player.shots:
            player.reload = self.draws.uniform(1.6, 4)
            x, y = tank.x + 4.2 * math.cos(tank.heading), tank.y + 4.2 * math.sin(tank.heading)
            player.shots[1] = Entity(x, y, tank.heading, 60.0)
            player.shots[1].born = self.now

    def fly(self, player):
        for local, shot in list(player.shots.items()):
            shot.x += math.cos(shot.heading) * 60 * STEP
            shot.y += math.sin(shot.heading) * 60 * STEP
            shot.tell(self.now)
            if not is_open(shot.x, shot.y) or self.now - shot.born > 1.4:
                del player.shots[local]

    def judge(self):
        for by, shooter in self.players.items():
            for local, shot in list(shooter.shots.items()):
                for number, player in self.players.items():
                    tank = player.tank
                    if number == by or not tank or math.hypot(tank.x - shot.x, tank.y - shot.y) > 2.9:
                        continue
                    shooter.shots.pop(local, None)
                    player.tank, player.back = None, self.now + 2
                    shooter.hits, player.losses = shooter.hits + 1, player.losses + 1
                    numbers = b"".join(map(varint, (number, by, local * 1024 + by)))
                    self.say(None, b"\x47\x01" + numbers + struct.pack("<dd", shot.x, shot.y))
                    break

    def say(self, to, message):
        self.news.append((to, message.hex()))

    def behind(self, number, choice):
        """How far behind a player is, in seconds: the caricature."""
        delays = [player.delay for player in self.players.values()]
        own, most = self.players[number].delay, max(delays)
        parts = {"base": own + 120, "papers": 0.45 * own + 0.4 * most + 110, "even": 0.04 * own + 0.93 * most + 80}
        return parts[choice] / 1000

    def measure(self):
        for number, player in self.players.items():
            for choice, errors in ((self.choice, player.errors), ("base", player.without)):
                behind, sizes = self.behind(number, choice), []
                for other, owner in self.players.items():
                    if other != number and owner.tank and owner.tank.vectors:
                        new, old = owner.tank.vectors[-1], owner.tank.shown(self.now, behind)
                        sizes.append(math.dist(place(new, self.now), place(old, self.now)))
                errors.append(sum(sizes) / len(sizes) if sizes else 0.0)
                del errors[:-100]
            player.total += player.errors[-1] * 0.1
            player.sent += 5

    def figures(self):
        mean = lambda values: sum(values) / len(values) if values else 0.0
        rows = []
        for number, player in self.players.items():
            rows.append({
                "player": number, "name": player.name, "bot": player.is_bot, "delay_ms": float(player.delay),
                "jitter_ms": float(player.jitter), "interval_ms": 0.05 + player.delay / 1500, "error": mean(player.errors),
                "total": player.total, "without": None if self.choice == "base" else mean(player.without),
                "sent": player.sent, "hits": player.hits, "losses": player.losses,
            })
        errors = [row["error"] for row in rows]
        middle = mean(errors)
        return {
            "policy": self.choice, "choice": self.choice, "choices": [{"id": key, "name": name} for key, name in CHOICES],
            "budget": "33.33333333333333%", "spread": math.sqrt(mean([(error - middle) ** 2 for error in errors])), "mean": middle,
            "sent_per_s": 210 + 6 * math.sin(self.now), "clock_ms": max(row["interval_ms"] for row in rows), "cap": None,
            "field": {"half": HALF, "blocks": [{"middle": block[:2], "half": block[2:]} for block in BLOCKS]}, "players": rows,
        }

    def vector(self, vector):
        generated, x, y, vx, vy = vector
        return {"kind": "linear", "generated": str(int(generated * 1e9)), "position": [x, y, 0], "velocity": [vx, vy, 0],
                "acceleration": [0, 0, 0], "turn_rate": 0}

    def watch(self):
        entities = []
        for number, player in self.players.items():
            for local, entity in [(0, player.tank), *player.shots.items()]:
                if entity and entity.vectors:
                    entities.append({"entity": local * 1024 + number, "vector": self.vector(entity.vectors[-1])})
        return {"now": str(int(self.now * 1e9)), "entities": entities}

    def shown(self, number):
        owner = self.players.get(number)
        if not owner or not owner.tank:
            return []
        others = [other for other in self.players if other != number]
        seen = [(other, owner.tank.shown(self.now, self.behind(other, self.choice))) for other in others]
        return [{"by": other, "vector": self.vector(vector)} for other, vector in seen if vector]

    def own(self, told):
        """What the page's player tells of its own, and the news for it since the last time."""
        player = self.players.get(HUMAN)
        if not player:
            player = self.players[HUMAN] = Player("you", 12, 2, is_bot=False)
        player.said = self.now
        if told["heard"] is None:
            player.tank, player.back = None, 0.0
        states = {state["local"]: state for state in told["entities"]}
        if not states.get(0):
            player.tank = None
        for local, state in states.items():
            (x, y), (vx, vy) = state["position"][:2], state["velocity"][:2]
            entity = player.tank if local == 0 else player.shots.get(local)
            if not entity:
                entity = Entity(x, y, 0.0)
            entity.x, entity.y, entity.speed = x, y, math.hypot(vx, vy)
            entity.heading = math.atan2(vy, vx)
            entity.tell(self.now)
            if local == 0:
                player.tank = entity
            else:
                player.shots[local] = entity
        player.shots = {local: shot for local, shot in player.shots.items() if local in states}
        fresh = self.news[told["heard"]:] if told["heard"] is not None else []
        return {"player": HUMAN, "heard": len(self.news), "news": [hex for to, hex in fresh if to in (None, HUMAN)]}


def varint(number):
    bytes_ = b""
    while number >= 128:
        bytes_ += bytes([number % 128 | 128])
        number //= 128
    return bytes_ + bytes([number])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json", status=200):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (("content-type", kind), ("content-length", str(len(body))), ("cache-control", "no-store")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urlparse(self.path)
        server = self.server
        with server.lock:
            server.world.advance()
            if url.path == "/api/arena":
                return self.answer(server.world.figures())
            if url.path == "/api/arena/shown":
                return self.answer(server.world.shown(int(parse_qs(url.query)["player"][0])))
            if url.path == "/api/arena/watch" and not server.is_plain:
                return self.answer(server.world.watch())
        return self.file(url.path)

    def file(self, path):
        path = "arena/index.html" if path == "/" else path.removeprefix("/web/")
        root, rest = (self.server.client, path[len("client/"):]) if path.startswith("client/") else (WEB, path)
        file = (root / rest).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return self.answer({"error": "not here"}, status=404)
        return self.answer(file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        with self.server.lock:
            world = self.server.world
            world.advance()
            if self.path == "/api/arena/policy":
                world.choice = body["choice"]
                return self.answer({})
            if self.path == "/api/arena/link":
                player = world.players[body["player"]]
                player.delay, player.jitter = body["delay_ms"], body["jitter_ms"]
                return self.answer({})
            if self.path == "/api/arena/join":
                return self.answer({"url": "https://127.0.0.1:7878/arena", "token": "", "hashes": [], "player_name": "you"})
            if self.path == "/test/own":
                return self.answer(world.own(body))
        return self.answer({"error": "not here"}, status=404)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--client", type=Path, default=WEB / "client", help="folder of the browser client")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--plain", action="store_true", help="without a page for watchers")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    server.world, server.lock, server.client = World(options.seed), threading.Lock(), options.client.resolve()
    server.is_plain = options.plain
    print(f"http://127.0.0.1:{options.port}/?mock")
    server.serve_forever()


if __name__ == "__main__":
    main()
