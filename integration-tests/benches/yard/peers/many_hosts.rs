//! Many old cfws in one process, with file lists in memory.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use actix_web::dev::ServerHandle;
use actix_web::web::{self, Bytes};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use anyhow::Result;
use reelyard_integration_tests::rigs::catalog::catalog_input::media_name;

/// Hosts whose addresses differ only in the last number.
const HOSTS_OF_A_NET: usize = 250;

/// The simulated hosts. Dropping the value stops them.
pub struct ManyHosts {
    /// The addresses of the hosts, in the order of the lists.
    pub addrs: Vec<SocketAddr>,
    server: ServerHandle,
}

impl ManyHosts {
    /// Starts `hosts` hosts that hold the first `files` media files between them, each file once.
    pub fn holding(files: usize, hosts: usize) -> Result<Self> {
        let lists = (0..hosts).map(|host| {
            let held = (host..files).step_by(hosts).map(|index| media_name(index) + "\n");
            Bytes::from(held.collect::<String>())
        });
        ManyHosts::start(lists.collect())
    }

    /// Starts one host for each list of files, with one name per line.
    fn start(lists: Vec<Bytes>) -> Result<Self> {
        let net = fastrand::u8(1..=254);
        let mut listeners = Vec::new();
        for number in 0..lists.len() {
            let (third, fourth) = (number / HOSTS_OF_A_NET, number % HOSTS_OF_A_NET + 1);
            let ip = Ipv4Addr::new(127, net, u8::try_from(third)?, u8::try_from(fourth)?);
            listeners.push(TcpListener::bind((ip, 8888))?);
        }
        let addrs = listeners.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?;
        let lists = web::Data::new(lists);
        let app = move || {
            App::new()
                .app_data(lists.clone())
                .route("/hb", web::head().to(HttpResponse::Ok))
                .route("/files", web::get().to(files))
                .route("/df", web::get().to(df))
        };
        let mut server = HttpServer::new(app).workers(1).disable_signals().shutdown_timeout(0);
        for listener in listeners {
            server = server.listen(listener)?;
        }
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Ok(ManyHosts { addrs, server: handle })
    }

    /// Stops all hosts.
    pub async fn stop(self) {
        self.server.stop(false).await;
    }
}

/// The called address selects the list.
async fn files(request: HttpRequest, lists: web::Data<Vec<Bytes>>) -> HttpResponse {
    let host = request.app_config().local_addr().ip();
    let std::net::IpAddr::V4(ip) = host else { return HttpResponse::NotFound().finish() };
    let [_, _, third, fourth] = ip.octets().map(usize::from);
    match lists.get((third * HOSTS_OF_A_NET + fourth).wrapping_sub(1)) {
        Some(list) => {
            HttpResponse::Ok().content_type("text/plain;charset=UTF-8").body(list.clone())
        }
        None => HttpResponse::NotFound().finish(),
    }
}

async fn df() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json;charset=UTF-8").body(
        "{\"total_size\":\"4000000000000\",\"used_size\":\"1000000000000\",\
         \"avail_size\":\"3000000000000\",\"used_percent\":25,\"free_size\":\"3000000000000\"}\n",
    )
}
