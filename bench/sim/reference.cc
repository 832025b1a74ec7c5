// The reference flow in ns-3: CUBIC without end over 10 Mbit/s, 50 ms each way, a FIFO of 1,000 packets, 60 s.
// Prints the segments that arrived and the seconds of CPU that the simulation took, without setting up.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <ctime>
#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    uint32_t flows = 1;
    std::string queue = "fifo";
    CommandLine cmd(__FILE__);
    cmd.AddValue("flows", "bulk transfers; rate and buffer grow with them", flows);
    cmd.AddValue("queue", "fifo, codel, fq_codel, pie or cobalt", queue);
    cmd.Parse(argc, argv);

    const uint32_t segment = 1448;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(10'000'000ULL * flows)));
    link.SetChannelAttribute("Delay", StringValue("50ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = link.Install(nodes);

    InternetStackHelper internet;
    internet.Install(nodes);
    TrafficControlHelper discipline;
    if (queue == "fifo")
    {
        discipline.SetRootQueueDisc("ns3::FifoQueueDisc",
                                    "MaxSize",
                                    QueueSizeValue(QueueSize(PACKETS, 1000 * flows)));
    }
    else if (queue == "codel")
    {
        discipline.SetRootQueueDisc("ns3::CoDelQueueDisc");
    }
    else if (queue == "fq_codel")
    {
        discipline.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
    }
    else if (queue == "pie")
    {
        discipline.SetRootQueueDisc("ns3::PieQueueDisc");
    }
    else
    {
        discipline.SetRootQueueDisc("ns3::CobaltQueueDisc");
    }
    discipline.Install(devices);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    ApplicationContainer sinks;
    for (uint32_t n = 0; n < flows; ++n)
    {
        const uint16_t port = 5000 + n;
        BulkSendHelper sender("ns3::TcpSocketFactory",
                              InetSocketAddress(interfaces.GetAddress(1), port));
        sender.SetAttribute("SendSize", UintegerValue(segment));
        sender.Install(nodes.Get(0)).Start(Seconds(0));
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(nodes.Get(1)));
    }

    Simulator::Stop(Seconds(60));
    const std::clock_t begin = std::clock();
    Simulator::Run();
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    uint64_t bytes = 0;
    for (uint32_t n = 0; n < flows; ++n)
    {
        bytes += DynamicCast<PacketSink>(sinks.Get(n))->GetTotalRx();
    }
    std::cout << bytes / segment << " " << seconds << std::endl;
    Simulator::Destroy();
    return 0;
}
