"""tcp-transfer.py send|receive ADDRESS BYTES [SECONDS]

Sends data by TCP, or receives them, checks them, and prints how many seconds
they took.  Fails if nothing happens for SECONDS (default 20).
"""

import hashlib
import socket
import sys
import time

PORT = 5001


def send(address, data, seconds):
    deadline = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection((address, PORT), seconds) as s:
                s.sendall(data)
            break
        except ConnectionRefusedError:         # nobody listens yet
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def receive(address, data, seconds):
    with socket.socket(socket.AF_INET6 if ":" in address
                       else socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.settimeout(seconds)
        listener.bind((address, PORT))
        listener.listen(1)
        s = listener.accept()[0]
    began = time.monotonic()
    s.settimeout(seconds)
    got = bytearray()
    with s:
        while True:
            chunk = s.recv(1 << 16)
            if not chunk:
                break
            got += chunk
    if got != data:
        sys.exit("{} bytes arrived, not as they were sent".format(len(got)))
    print("{:.2f}".format(time.monotonic() - began))


if __name__ == "__main__":
    try:
        {"send": send, "receive": receive}[sys.argv[1]](
            sys.argv[2], hashlib.shake_128(b"").digest(int(sys.argv[3])),
            float(sys.argv[4]) if len(sys.argv) > 4 else 20)
    except OSError as error:
        sys.exit(str(error))
