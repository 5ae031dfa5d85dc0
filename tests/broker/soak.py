"""Hostile bytes, and clients that come and go: short in the tests, long in ``benchmarks/broker_soak.py``."""

from __future__ import annotations

import gc
import random
import tracemalloc

import mqtt5
from mqtt5 import ConnectPacket, PubAckPacket, PublishPacket, SubscribePacket, TopicFilter, Will

from tests.broker.core_bed import QOS, CoreBed

SEEDS = [
    ConnectPacket(
        "victim",
        username="ü",
        password=b"\xff",
        will=Will("w/ä", payload=b"\xff", user_properties=[("a", "b")]),
        session_expiry_interval=5,
        user_properties=[("k", "v")],
    ).write(),
    PublishPacket("a/ä", b"\xff" * 20, qos=QOS[1], packet_id=1, retain=True, response_topic="r", topic_alias=1).write(),
    PublishPacket("a/b", b"x", qos=QOS[2], packet_id=2, message_expiry_interval=3).write(),
    PublishPacket("a", b"plain").write(),
    PubAckPacket(1).write(),
    mqtt5.PubRecPacket(1).write(),
    mqtt5.PubRelPacket(2).write(),
    mqtt5.PubCompPacket(1).write(),
    SubscribePacket(3, [TopicFilter("a/#"), TopicFilter("$share/g/+/b", max_qos=QOS[1])], subscription_id=9).write(),
    mqtt5.UnsubscribePacket(4, ["a/#", "ü"]).write(),
    mqtt5.PingReqPacket().write(),
    mqtt5.DisconnectPacket(reason_str="bye", session_expiry_interval=3).write(),
    mqtt5.AuthPacket(authentication_method="m").write(),
]


class Attack:
    """Makes hostile input from *seed*: random bytes, and valid packets with a few bytes changed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def bytes(self) -> bytes:
        chance = self._random
        if chance.random() < 0.3:
            return chance.randbytes(chance.randint(1, 80))
        data = bytearray(b"".join(chance.choices(SEEDS, k=chance.randint(1, 3))))
        for _ in range(chance.randint(0, 4)):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    data.insert(at, chance.randrange(256))
                case 2:
                    del data[at + 1 :]
                case _ if len(data) > 1:
                    del data[at]
        return bytes(data)

    def connected(self) -> bool:
        """Whether the next one is to come after a valid CONNECT."""
        return self._random.random() < 0.7

    def strike(self, bed: CoreBed) -> None:
        """One connection that sends hostile bytes, and goes."""
        client = bed.connect("attacker") if self.connected() else bed.dial()
        for _ in range(2):
            client.send_bytes(self.bytes())
            client.received()
        client.drop()
        bed.advance(1)


def churn(bed: CoreBed, *, minutes: int, warm_up: int, seed: int = 1) -> int:
    """Clients connect, subscribe, publish, acknowledge or not, and drop, ten a second; growth of memory in bytes.

    Growth is counted from the end of *warm_up* minutes on, over *minutes*.
    """
    chance = random.Random(seed)
    before = 0
    tracemalloc.start()
    try:
        for minute in range(warm_up + minutes):
            if minute == warm_up:
                before = _memory(bed)
            for number in range(600):
                _visit(bed, chance, number)
                bed.advance(0.1)
        return _memory(bed) - before
    finally:
        tracemalloc.stop()


def _memory(bed: CoreBed) -> int:
    bed.advance(900)  # sessions, retained messages and timers of the visitors are over by now
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _visit(bed: CoreBed, chance: random.Random, number: int) -> None:
    client = bed.connect(
        f"c{chance.randrange(200)}",
        clean_start=chance.random() < 0.5,
        session_expiry_interval=chance.choice([0, 0, 5, 60]),
        keep_alive=chance.choice([0, 5, 30]),
        receive_max=chance.choice([1, 5, 65_535]),
        will=Will(f"w/{chance.randrange(50)}", payload=b"gone", will_delay_interval=chance.choice([0, 5])),
    )
    filters = [f"t/{chance.randrange(50)}/+", f"$share/g{chance.randrange(5)}/t/#", f"w/{chance.randrange(50)}"]
    client.subscribe(*filters[: chance.randint(1, 3)], qos=chance.randrange(3))
    for _ in range(3):
        client.publish(
            f"t/{chance.randrange(50)}/{number}",
            bytes(100),
            qos=chance.randrange(2),
            retain=chance.random() < 0.2,
            message_expiry_interval=chance.choice([1, 60, 600]),
        )
    for message in client.messages():
        if message.packet_id and message.qos == QOS[1] and chance.random() < 0.7:
            client.send(PubAckPacket(message.packet_id))
    if chance.random() < 0.5 and not client.peer.closing:
        client.send(mqtt5.DisconnectPacket())
    client.drop()
