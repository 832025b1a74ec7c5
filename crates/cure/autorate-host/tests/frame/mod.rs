//! Ethernet frames with TCP in them, by their bytes. No field is checked on the way but those that are written here.

/// A segment of a flow, in either direction.
#[derive(Clone)]
pub struct Frame {
    /// Of the flow: addresses and ports follow.
    pub number: u32,
    pub is_v6: bool,
    pub outer: Outer,
    /// In front of the time stamps; none: two fillers.
    pub options_before: Vec<u8>,
    /// Without time stamps.
    pub is_bare: bool,
    pub value: u32,
    pub echo: u32,
    pub ack: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outer {
    Plain,
    Tag,
    TwoTags,
}

const PAYLOAD: [u8; 40] = [7; 40];

impl Frame {
    pub fn v4(number: u32) -> Frame {
        Frame {
            number,
            is_v6: false,
            outer: Outer::Plain,
            options_before: vec![1, 1],
            is_bare: false,
            value: 0,
            echo: 0,
            ack: 0,
        }
    }

    pub fn v6(number: u32) -> Frame {
        Frame {
            is_v6: true,
            ..Frame::v4(number)
        }
    }

    /// From our side to the line.
    pub fn out(&self) -> Vec<u8> {
        self.bytes([1, 2])
    }

    /// From the line.
    pub fn back(&self) -> Vec<u8> {
        self.bytes([2, 1])
    }

    fn bytes(&self, ends: [u8; 2]) -> Vec<u8> {
        let mut frame = vec![0x02, 0, 0, 0, 0, ends[1], 0x02, 0, 0, 0, 0, ends[0]];
        match self.outer {
            Outer::Plain => {}
            Outer::Tag => frame.extend([0x81, 0, 0, 7]),
            Outer::TwoTags => frame.extend([0x88, 0xa8, 0, 9, 0x81, 0, 0, 7]),
        }
        let tcp = self.tcp(ends);
        let total = (tcp.len() + PAYLOAD.len()) as u16;
        match self.is_v6 {
            true => {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
                frame.extend(total.to_be_bytes());
                frame.extend([6, 64]);
                for end in ends {
                    frame.extend([
                        0xfd,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0,
                        end,
                        self.number as u8,
                    ]);
                }
            }
            false => {
                frame.extend([8, 0, 0x45, 0]);
                frame.extend((total + 20).to_be_bytes());
                frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
                ends.iter()
                    .for_each(|end| frame.extend([10, 9, *end, self.number as u8]));
            }
        }
        frame.extend(tcp);
        frame.extend(PAYLOAD);
        frame
    }

    fn tcp(&self, ends: [u8; 2]) -> Vec<u8> {
        let mut options = self.options_before.clone();
        if !self.is_bare {
            options.extend([8, 10]);
            options.extend(self.value.to_be_bytes());
            options.extend(self.echo.to_be_bytes());
        }
        options.resize(options.len().next_multiple_of(4), 0);
        let mut tcp = Vec::new();
        ends.iter()
            .for_each(|end| tcp.extend((1_000 + u16::from(*end)).to_be_bytes()));
        tcp.extend([0, 0, 0, 1]);
        tcp.extend(self.ack.to_be_bytes());
        tcp.push(((20 + options.len()) / 4 * 16) as u8);
        tcp.extend([0x10, 0xff, 0xff, 0, 0, 0, 0]);
        tcp.extend(options);
        tcp
    }
}
