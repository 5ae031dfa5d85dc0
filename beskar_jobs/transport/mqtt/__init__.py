"""The transport to any MQTT 5 broker, over paho-mqtt; nothing outside this package imports paho.

:mod:`~beskar_jobs.transport.mqtt.transport` is what outlives a connection,
:mod:`~beskar_jobs.transport.mqtt.connection` one connection, and
:mod:`~beskar_jobs.transport.mqtt.packet_socket` the fast path for the packets that carry the load.
"""

from beskar_jobs.transport.mqtt.transport import MqttTransport

__all__ = ["MqttTransport"]
