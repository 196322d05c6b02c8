"""Makes one gRPC call with Debian's python3-grpcio, using the contract's descriptors and no generated code.

Usage: grpc_client.py ADDRESS DESCRIPTORS METHOD REQUEST_JSON [KEY], for example 127.0.0.1:8825 image.binpb v1.KeyService/ListKeys '{}'.
Reads a streaming method to its end and prints {"stream": [messages]}, plus "error" if the stream ends with one.
For a unary method prints {"ok": response} or {"error": {"code", "message", "details"}} as JSON.
"""
import json
import sys

import grpc
from google.protobuf import any_pb2  # noqa: F401 (its descriptor must be in the pool)
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory


def load(path):
    pool = descriptor_pool.Default()
    image = descriptor_pb2.FileDescriptorSet()
    with open(path, "rb") as file:
        image.ParseFromString(file.read())
    for proto in image.file:
        if not proto.name.startswith("google/protobuf/"):
            pool.Add(proto)
    # Error details are wrapped in google.rpc.Status, which is not part of the contract.
    pool.Add(
        descriptor_pb2.FileDescriptorProto(
            name="google/rpc/status.proto",
            package="google.rpc",
            syntax="proto3",
            dependency=["google/protobuf/any.proto"],
            message_type=[
                descriptor_pb2.DescriptorProto(
                    name="Status",
                    field=[
                        field("code", 1, "TYPE_INT32"),
                        field("message", 2, "TYPE_STRING"),
                        field("details", 3, "TYPE_MESSAGE", "LABEL_REPEATED", ".google.protobuf.Any"),
                    ],
                )
            ],
        )
    )
    return pool


def field(name, number, kind, label="LABEL_OPTIONAL", type_name=None):
    types = descriptor_pb2.FieldDescriptorProto
    return types(name=name, number=number, type=types.Type.Value(kind), label=types.Label.Value(label), type_name=type_name)


def main(address, descriptors, method, request_json, key=None):
    pool = load(descriptors)
    factory = message_factory.MessageFactory(pool)

    def message(name):
        return factory.GetPrototype(pool.FindMessageTypeByName(name))

    service, name = method.split("/")
    described = pool.FindServiceByName(service).FindMethodByName(name)
    request = json_format.Parse(request_json, message(described.input_type.full_name)())
    answer_type = message(described.output_type.full_name)
    shape = descriptor_pb2.MethodDescriptorProto()
    described.CopyToProto(shape)
    stream = []
    with grpc.insecure_channel(address) as channel:
        kind = channel.unary_stream if shape.server_streaming else channel.unary_unary
        call = kind(
            f"/{method}",
            request_serializer=lambda value: value.SerializeToString(),
            response_deserializer=answer_type.FromString,
        )
        try:
            metadata = [("authorization", f"Bearer {key}")] if key else []
            answer = call(request, metadata=metadata, timeout=20)
            if shape.server_streaming:
                for one in answer:
                    stream.append(json_format.MessageToDict(one, including_default_value_fields=True))
                return {"stream": stream}
            return {"ok": json_format.MessageToDict(answer, including_default_value_fields=True)}
        except grpc.RpcError as error:
            details = []
            for name, value in error.trailing_metadata():
                if name == "grpc-status-details-bin":
                    status = message("google.rpc.Status").FromString(value)
                    for detail in status.details:
                        type_name = detail.type_url.split("/")[-1]
                        details.append(json_format.MessageToDict(message(type_name).FromString(detail.value)))
            messages = {"stream": stream} if shape.server_streaming else {}
            return {**messages, "error": {"code": error.code().name.lower(), "message": error.details(), "details": details}}


print(json.dumps(main(*sys.argv[1:])))
