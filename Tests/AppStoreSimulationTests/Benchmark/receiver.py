"""A receiver of notifications that answers every request at once with 200; prints its port."""

import asyncio

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Receiver(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.missing = 0
        self.head = b""

    def data_received(self, data):
        if self.missing == 0:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            length = int(self.head[:end].lower().split(b"content-length:")[1].split(b"\r\n")[0])
            self.missing = length - (len(self.head) - end - 4)
            self.head = b""
        else:
            self.missing -= len(data)
        if self.missing == 0:
            self.transport.write(ANSWER)


async def main():
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
