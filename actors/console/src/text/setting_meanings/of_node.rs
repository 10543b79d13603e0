//! Settings of the node itself: addresses, journal, cluster, access, servers and the log.

super::korean_meanings! {
    "listen": "API와 cfm 인터페이스의 주소입니다.";
    "insecure": "TLS가 없는 listen을 다른 호스트에서 접속할 수 있게 허용합니다. 그러면 토큰, 암호, 세션을 네트워크에서 읽을 수 있습니다.";
    "data_dir": "영구 데이터를 두는 디렉터리입니다. 없으면 노드가 만듭니다.";
    "node_id": "클러스터에서 이 노드의 번호입니다. 번호는 클러스터가 정하며, 이 설정은 확인에만 씁니다. 클러스터를 처음 만든 노드는 1번입니다.";
    "token": "노드가 워커와 공유하는 비밀 값입니다. 토큰 legacy로서 관리자 권한도 있습니다. 사람과 프로그램에는 따로 토큰을 만드십시오: reelyard token create. 이전 cfw는 토큰을 모르므로 토큰 없이 호출합니다.";
    "token_file": "토큰이 들어 있는 파일입니다. token 대신 사용하십시오. 토큰 앞뒤의 공백과 줄 바꿈은 무시합니다.";
    "journal.commit_timeout": "커밋이 이 시간보다 오래 걸리면 결과를 알 수 없다고 답합니다.";
    "journal.snapshot_log_bytes": "로그가 이 크기가 되면 스냅샷을 만듭니다. 한가할 때에는 더 일찍 만듭니다.";
    "journal.reserve": "data_dir이 있는 디스크에 남겨 두는 공간입니다. 이 값의 4분의 1보다 적어지면 노드는 변경을 거부하고, 남은 공간은 진행 중인 작업을 끝내는 데 씁니다.";
    "journal.heartbeat": "리더가 신호를 보내는 간격입니다.";
    "journal.election_min": "한 노드가 선출을 시도한 뒤 다시 시도하기까지의 최소 시간입니다.";
    "journal.election_max": "리더가 없으면 이 시간 뒤에 노드들이 리더를 선출합니다. 한 노드가 먼저 나서도록 각 노드는 election_min과의 차이 안에서 무작위 시간을 더 기다립니다.";
    "cluster.listen": "다른 노드가 접속하는 주소입니다. 없으면 노드가 혼자 동작합니다.";
    "cluster.address": "다른 노드가 이 노드에 접속할 때 쓰는 주소(host:port)입니다. 없으면 listen을 씁니다.";
    "cluster.insecure": "모든 주소에서 암호화 없이 다른 노드를 받아들입니다. 그 네트워크의 누구나 노드로 행동하고 모든 것을 읽고 바꿀 수 있습니다. 닫힌 네트워크의 시험에만 사용하십시오.";
    "cluster.clock_bound": "노드의 시계와 모든 투표 노드의 중앙값 사이에 허용하는 최대 차이입니다. 시계가 더 벗어난 노드는 선거에 나서지 않으며, 리더라면 자리를 넘깁니다.";
    "cluster.tls.ca_file": "모든 노드의 인증 기관 인증서(PEM)입니다. 노드 사이의 양쪽이 이 기관의 인증서를 제시합니다.";
    "cluster.tls.cert_file": "이 노드의 인증서(PEM)입니다. 노드의 클러스터 주소에 있는 호스트 이름이 들어 있고, 서버와 클라이언트 모두에 유효해야 합니다. reelyard cluster certs로 만들 수 있습니다.";
    "cluster.tls.key_file": "인증서의 개인 키입니다. PEM 형식이며 암호가 없어야 합니다.";
    "tls.certificate": "listen에 쓰는 PEM 형식의 인증서이며 중간 인증서가 뒤에 이어집니다. 다시 읽기를 하면 인증서와 키를 다시 읽고 새 연결부터 적용합니다. 없으면 listen은 암호화되지 않습니다.";
    "tls.key": "인증서의 개인 키입니다. PEM 형식이며 암호가 없어야 합니다.";
    "session.idle": "이 시간 동안 사용하지 않으면 세션이 끝납니다.";
    "session.max_age": "계속 사용하더라도 이 시간이 지나면 세션이 끝납니다.";
    "access.lock_after": "맞는 암호 없이 틀린 암호가 이 횟수만큼 이어지면 계정을 잠급니다.";
    "access.lock_window": "이 시간 안의 틀린 암호만 함께 셉니다.";
    "access.lock_for": "잠긴 계정은 이 시간 동안 암호를 받지 않습니다. 관리자는 더 일찍 잠금을 해제할 수 있습니다.";
    "audit.keep": "감사 기록을 보관하는 기간입니다.";
    "audit.max_size": "감사 기록이 디스크에서 차지하는 최대 크기입니다. 넘으면 오래된 기록부터 삭제합니다.";
    "compat.allow": "cfm 인터페이스를 사용할 수 있는 주소와 네트워크입니다. 없으면 이 호스트와 클러스터의 호스트가 사용할 수 있습니다. 빈 목록이면 닫힙니다.";
    "metrics.allow": "토큰 없이 /metrics를 읽을 수 있는 주소와 네트워크입니다. 없으면 이 호스트와 클러스터의 호스트가 읽을 수 있습니다. 그 밖에는 metrics:read 권한이 있는 토큰이 필요합니다.";
    "http.threads": "요청을 처리하는 스레드 수입니다. 없으면 프로세서마다 하나입니다.";
    "http.body_limit": "요청 본문의 최대 크기입니다.";
    "http.request_timeout": "요청 본문을 받는 제한 시간입니다.";
    "http.connections": "최대 연결 수이며, 프로세스 파일 디스크립터의 40%까지입니다. 한도에 도달하면 놀고 있거나 멈춘 연결을 닫고 새 연결을 받습니다. 호스트가 1,500대를 넘으면 호스트마다 2개에 1,024개를 더한 값이 됩니다.";
    "http.connections_per_address": "주소 하나의 최대 연결 수입니다. 모든 워커가 게이트웨이 주소 하나를 함께 쓸 수 있으므로, 설정된 호스트마다 2개씩 더 허용합니다. API 앞에 프록시가 있으면 큰 값이 필요합니다.";
    "http.names": "클라이언트가 이 노드를 부르는 이름입니다. 노드의 주소, localhost, 시스템의 호스트 이름은 적지 않아도 됩니다. Host에 다른 이름이 있는 요청은 다른 사이트의 페이지가 보냈을 수 있으므로 거부합니다.";
    "console.enabled": "/console과 /login을 제공할지 정합니다. 끄면 노드는 페이지를 위한 자료를 준비하지 않습니다.";
    "log.level": "기록하는 가장 낮은 수준입니다: error, warn, info, debug, trace. 모듈별 수준도 쓸 수 있습니다: \"info,reelyard_yard::catalog=debug\".";
    "log.format": "로그의 형식이며 이벤트마다 한 줄입니다. 사람에게는 \"text\", 프로그램에는 \"json\"이 알맞습니다.";
}
