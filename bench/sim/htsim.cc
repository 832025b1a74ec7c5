// N flows in htsim: TCP without end over N times 1 Mbit/s, 50 ms each way, a FIFO of N times 20 packets of 1,500 bytes,
// 10 s, started within the first round trip. Prints the packets that left the queue's path, the seconds of CPU that the
// simulation took, without setting up, and the kB by which the process grew.

#include "config.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>

// In kB, now or the most so far: VmRSS or VmHWM.
long
Memory(const std::string& which)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
    {
        if (line.compare(0, which.size(), which) == 0)
        {
            return std::atol(line.c_str() + which.size() + 1);
        }
    }
    return 0;
}

// Counts the packets that pass.
struct Counter : PacketSink
{
    uint64_t packets = 0;
    std::string name = "counter";

    void receivePacket(Packet& packet) override
    {
        ++packets;
        packet.sendOn();
    }

    const std::string& nodename() override
    {
        return name;
    }
};

int
main(int argc, char* argv[])
{
    const long memory = Memory("VmRSS");
    const int flows = argc > 1 ? std::atoi(argv[1]) : 1;
    const int size = 1500;
    const simtime_picosec delay = timeFromMs(50);
    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(10));
    Packet::set_packet_size(size);

    Queue queue(speedFromMbps(static_cast<uint64_t>(flows)), static_cast<mem_b>(flows) * 20 * size, events, nullptr);
    Pipe pipe(delay, events);
    Counter counter;
    Queue queueBack(speedFromMbps(static_cast<uint64_t>(1000)), 10'000 * 64, events, nullptr);
    Pipe pipeBack(delay, events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    for (int n = 0; n < flows; ++n)
    {
        TcpSrc* source = new TcpSrc(nullptr, nullptr, events);
        TcpSink* sink = new TcpSink();
        timers.registerTcp(*source);
        Route* out = new Route();
        for (PacketSink* hop : {static_cast<PacketSink*>(&queue), static_cast<PacketSink*>(&pipe),
                                static_cast<PacketSink*>(&counter), static_cast<PacketSink*>(sink)})
        {
            out->push_back(hop);
        }
        Route* back = new Route();
        for (PacketSink* hop : {static_cast<PacketSink*>(&queueBack), static_cast<PacketSink*>(&pipeBack),
                                static_cast<PacketSink*>(source)})
        {
            back->push_back(hop);
        }
        source->connect(*out, *back, *sink, 2 * delay * n / flows);
    }

    // It tells of each timeout.
    std::cout.setstate(std::ios::failbit);
    const std::clock_t begin = std::clock();
    while (events.doNextEvent())
    {
    }
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::cout.clear();
    std::cout << counter.packets << " " << seconds << " " << Memory("VmHWM") - memory << std::endl;
    return 0;
}
