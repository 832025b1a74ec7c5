//! A connection with both of its ends: requests, responses, and whose turn it is to write.

use crate::end::End;
use std::collections::VecDeque;
use std::io;
use unbloat_units::{Bytes, Direction};
use unbloat_workload::{Conn, Happening};

/// A request and its response, by where they end in their streams.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    request_end: u64,
    response: u64,
    response_end: u64,
    is_answered: bool,
}

pub(crate) struct Connection {
    pub(crate) flow: u32,
    /// Its number in its workload.
    pub(crate) conn: Conn,
    /// Of the client's socket: by this the server's is recognised.
    pub(crate) port: u16,
    pub(crate) is_open: bool,
    /// The server's end, which sends downwards, once it is accepted; then the client's.
    pub(crate) server: Option<End>,
    pub(crate) client: End,
    exchanges: VecDeque<Exchange>,
    /// Bytes of all requests, and of all responses, so far.
    asked: u64,
    promised: u64,
    read_at_least: u64,
    is_closing: bool,
    is_shut: bool,
}

impl Connection {
    pub(crate) fn new(flow: u32, conn: Conn, client: End, port: u16, read_at_least: u64) -> Self {
        Connection {
            flow,
            conn,
            port,
            is_open: false,
            server: None,
            client,
            exchanges: VecDeque::new(),
            asked: 0,
            promised: 0,
            read_at_least,
            is_closing: false,
            is_shut: false,
        }
    }

    pub(crate) fn exchange(
        &mut self,
        request: Bytes,
        response: Bytes,
        zeros: &[u8],
    ) -> io::Result<()> {
        self.asked += request.as_u64();
        self.promised += response.as_u64();
        self.exchanges.push_back(Exchange {
            request_end: self.asked,
            response: response.as_u64(),
            response_end: self.promised,
            is_answered: false,
        });
        self.expect()?;
        self.client.write(request.as_u64(), zeros)
    }

    /// The server's end has come.
    pub(crate) fn accepted(&mut self, end: End) -> io::Result<()> {
        self.server = Some(end);
        self.expect()
    }

    fn expect(&mut self) -> io::Result<()> {
        let to_come = self.promised - self.client.read;
        self.client.expect(to_come, self.read_at_least)?;
        if let Some(server) = &mut self.server {
            server.expect(self.asked - server.read, self.read_at_least)?;
        }
        Ok(())
    }

    /// The socket of the sender of that direction takes more.
    pub(crate) fn on_writable(
        &mut self,
        direction: Direction,
        zeros: &[u8],
        tell: &mut impl FnMut(Happening),
    ) -> io::Result<()> {
        if direction == Direction::Up && !self.is_open {
            self.is_open = true;
            tell(Happening::Opened { conn: self.conn });
        }
        match direction {
            Direction::Up => Some(&mut self.client),
            Direction::Down => self.server.as_mut(),
        }
        .map_or(Ok(()), |end| {
            end.may_write();
            end.write(0, zeros)
        })
    }

    /// Data waits at the end that sends in that direction.
    pub(crate) fn on_readable(
        &mut self,
        sender: Direction,
        zeros: &[u8],
        tell: &mut impl FnMut(Happening),
    ) -> io::Result<()> {
        let (end, direction) = match sender {
            Direction::Down => (self.server.as_mut(), Direction::Up),
            Direction::Up => (Some(&mut self.client), Direction::Down),
        };
        let bytes = end.map_or(Ok(0), End::discard)?;
        if bytes == 0 {
            return Ok(());
        }
        tell(Happening::Read {
            conn: self.conn,
            direction,
            bytes: Bytes::new(bytes),
        });
        if direction == Direction::Up {
            self.answer(zeros)?;
        }
        self.finish(tell);
        self.expect()
    }

    /// The server answers the requests that are complete.
    fn answer(&mut self, zeros: &[u8]) -> io::Result<()> {
        let Some(server) = &mut self.server else {
            return Ok(());
        };
        let open = self.exchanges.iter_mut().filter(|one| !one.is_answered);
        let mut bytes = 0;
        for exchange in open.take_while(|one| one.request_end <= server.read) {
            exchange.is_answered = true;
            bytes += exchange.response;
        }
        server.write(bytes, zeros)
    }

    /// An exchange without response is done as soon as the request is there.
    fn finish(&mut self, tell: &mut impl FnMut(Happening)) {
        while let Some(exchange) = self.exchanges.front()
            && exchange.is_answered
            && exchange.response_end <= self.client.read
        {
            self.exchanges.pop_front();
            tell(Happening::Done { conn: self.conn });
        }
    }

    pub(crate) fn close(&mut self) {
        self.is_closing = true;
    }

    /// The client says that it has no more, once that is so.
    pub(crate) fn shut_if_through(&mut self) -> io::Result<()> {
        if self.is_closing && !self.is_shut && self.is_open && self.exchanges.is_empty() {
            self.is_shut = true;
            self.client.socket.shutdown(std::net::Shutdown::Write)?;
        }
        Ok(())
    }

    /// The client has said so: when the server hears it, the connection is over.
    pub(crate) fn is_shut(&self) -> bool {
        self.is_shut
    }

    pub(crate) fn end(&self, sender: Direction) -> Option<&End> {
        match sender {
            Direction::Down => self.server.as_ref(),
            Direction::Up => Some(&self.client),
        }
    }

    /// The direction that has more to carry.
    pub(crate) fn busier(&self) -> Direction {
        if self.asked > self.promised {
            Direction::Up
        } else {
            Direction::Down
        }
    }
}
