// The reference flow in ns-3: CUBIC without end over 10 Mbit/s, 50 ms each way, a FIFO of 1,000 packets, 60 s.
// Prints the segments that arrived and the seconds of CPU that the simulation took, without setting up; with --measure
// then the mean delay in ms until transmission begins and the packets that the discipline dropped. The defaults of
// every attribute of ns-3 can be set as well: --ns3::PieQueueDisc::MaxSize=1000p

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <ctime>
#include <deque>
#include <iostream>

using namespace ns3;

// Waiting at the sender: in the discipline, then in the one place of the device below it. A mean needs no pairs.
struct Waits
{
    Time inDiscipline;
    Time inDevice;
    uint64_t packets = 0;
    std::deque<Time> entered;

    void LeaveDiscipline(Time sojourn)
    {
        inDiscipline += sojourn;
    }

    void EnterDevice(Ptr<const Packet>)
    {
        entered.push_back(Simulator::Now());
    }

    void LeaveDevice(Ptr<const Packet>)
    {
        inDevice += Simulator::Now() - entered.front();
        entered.pop_front();
        ++packets;
    }

    double MeanMs() const
    {
        return (inDiscipline + inDevice).GetSeconds() * 1e3 / packets;
    }
};

int
main(int argc, char* argv[])
{
    uint32_t flows = 1;
    uint32_t places = 1000;
    uint64_t rate = 10'000'000;
    Time delay = MilliSeconds(50);
    std::string queue = "fifo";
    std::string control = "ns3::TcpCubic";
    bool measure = false;
    CommandLine cmd(__FILE__);
    cmd.AddValue("flows", "bulk transfers; rate and buffer grow with them", flows);
    cmd.AddValue("queue", "fifo, codel, fq_codel, pie, red or cobalt", queue);
    cmd.AddValue("places", "packets that a FIFO holds, for each flow", places);
    cmd.AddValue("rate", "bit/s, for each flow; a packet is 2 bytes longer than at IP", rate);
    cmd.AddValue("delay", "one way", delay);
    cmd.AddValue("control", "type of the congestion control", control);
    cmd.AddValue("measure", "print delay and drops too", measure);
    cmd.Parse(argc, argv);

    const uint32_t segment = 1448;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(control));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate * flows)));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = link.Install(nodes);

    InternetStackHelper internet;
    internet.Install(nodes);
    TrafficControlHelper discipline;
    if (queue == "fifo")
    {
        discipline.SetRootQueueDisc("ns3::FifoQueueDisc",
                                    "MaxSize",
                                    QueueSizeValue(QueueSize(PACKETS, places * flows)));
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
    else if (queue == "red")
    {
        discipline.SetRootQueueDisc("ns3::RedQueueDisc");
    }
    else
    {
        discipline.SetRootQueueDisc("ns3::CobaltQueueDisc");
    }
    Ptr<QueueDisc> root = discipline.Install(devices).Get(0);
    Waits waits;
    if (measure)
    {
        Ptr<Queue<Packet>> place = DynamicCast<PointToPointNetDevice>(devices.Get(0))->GetQueue();
        root->TraceConnectWithoutContext("SojournTime", MakeCallback(&Waits::LeaveDiscipline, &waits));
        place->TraceConnectWithoutContext("Enqueue", MakeCallback(&Waits::EnterDevice, &waits));
        place->TraceConnectWithoutContext("Dequeue", MakeCallback(&Waits::LeaveDevice, &waits));
    }
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
    std::cout << bytes / segment << " " << seconds;
    if (measure)
    {
        std::cout << " " << waits.MeanMs() << " " << root->GetStats().nTotalDroppedPackets;
    }
    std::cout << std::endl;
    Simulator::Destroy();
    return 0;
}
