#!/usr/bin/env python3
"""Writes request.hex: what the official protobuf classes make of the metrics in encode_test.cpp.

pip install opentelemetry-proto && ./make_request.py > request.hex
"""
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service
from opentelemetry.proto.common.v1 import common_pb2 as common
from opentelemetry.proto.metrics.v1 import metrics_pb2 as m


def attribute(key, value):
    return common.KeyValue(key=key, value=common.AnyValue(string_value=value))


START, TIME = 1_796_040_000_000_000_000, 1_796_040_060_000_000_000
request = service.ExportMetricsServiceRequest()
resource = request.resource_metrics.add()
resource.resource.attributes.append(attribute("service.name", "neuron-observer-agent"))
resource.resource.attributes.append(attribute("k8s.node.name", "node-ä"))
scope = resource.scope_metrics.add()
scope.scope.name, scope.scope.version = "neuron-observer", "1.2.3"

counter = scope.metrics.add(name="neuron.core.infer_completed.sum", description="Inferences.", unit="{inference}")
counter.sum.aggregation_temporality = m.AGGREGATION_TEMPORALITY_CUMULATIVE
counter.sum.is_monotonic = True
for device, value in (("0", 0.0), ("15", 123456789.0)):
    point = counter.sum.data_points.add(start_time_unix_nano=START, time_unix_nano=TIME, as_double=value)
    point.attributes.append(attribute("neuron_device", device))

gauge = scope.metrics.add(name="neuron.device.power_avg", description="Power.", unit="%")
point = gauge.gauge.data_points.add(time_unix_nano=TIME, as_double=-0.5)
point.attributes.append(attribute("neuron_device", "3"))
point.attributes.append(attribute("pod", "a\ufffdb"))

histogram = scope.metrics.add(name="cycle_seconds", unit="s")
histogram.histogram.aggregation_temporality = m.AGGREGATION_TEMPORALITY_DELTA
histogram.histogram.data_points.add(
    start_time_unix_nano=START, time_unix_nano=TIME, count=6, sum=7.75,
    bucket_counts=[1, 2, 3], explicit_bounds=[0.25, 1.0])

text = request.SerializeToString(deterministic=True).hex()
print("\n".join(text[i:i + 100] for i in range(0, len(text), 100)))
