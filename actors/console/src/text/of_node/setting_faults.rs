//! Faults of a configuration. A text begins with the file, the line and the key of a setting. The forms are those
//! of `sentences`.

/// English and Korean.
pub const SETTING_FAULTS: &[(&str, &str)] = &[
    ("the configuration has {n} fault:", "설정 오류 {n}건:"),
    ("the configuration has {n} faults:", "설정 오류 {n}건:"),
    ("entry {n}: {why}", "{n}번째 항목: {why}"),
    // The file, and its keys.
    ("cannot be read: {why}", "읽을 수 없음: {why}"),
    ("is not UTF-8: {why}", "UTF-8이 아님: {why}"),
    ("the value is not UTF-8", "값이 UTF-8이 아님"),
    ("is not TOML: {why}", "TOML 형식이 아님: {why}"),
    (
        "is not a setting; the rest of the file was not checked: is this a configuration file?",
        "설정이 아님. 파일의 나머지는 확인하지 않았습니다. 설정 파일이 맞는지 확인하십시오",
    ),
    (
        "is not a setting; \"reelyard config default\" prints all settings",
        "설정이 아님. 모든 설정은 \"reelyard config default\"로 볼 수 있습니다",
    ),
    ("is not a setting; did you mean {key}?", "설정이 아님. 비슷한 설정: {key}"),
    ("is a setting of a worker: this role does not have it", "워커의 설정이며 노드에는 없음"),
    ("is a setting of a node: this role does not have it", "노드의 설정이며 워커에는 없음"),
    ("is a group of settings: set one of its keys", "설정의 묶음입니다. 그 안의 키를 설정하십시오"),
    (
        "is set twice: {old} is its old name; remove {same}",
        "두 번 설정됨. {old}은(는) 이전 이름이므로 {same}을(를) 지우십시오",
    ),
    ("an earlier layer sets it to a value that is not a table", "앞선 설정의 값이 표가 아님"),
    (
        "{key} cannot be set: a part of this path is not a table",
        "{key}: 경로의 일부가 표가 아니어서 설정할 수 없음",
    ),
    ("expected key=value such as log.level=debug", "key=value 형식이 아님. 예: log.level=debug"),
    ("is required, as in {example}", "필수 설정. 예: {example}"),
    // Values.
    ("expected true or false, not {value}", "true 또는 false가 아님: {value}"),
    ("expected a path, not an empty string", "경로가 비어 있음"),
    ("a path cannot hold a NUL byte", "경로에 NUL 바이트가 있음"),
    ("expected a whole number of at least 1, not {value}", "1 이상의 정수가 아님: {value}"),
    ("expected a percentage from 1 to 100, not {value}", "1에서 100까지의 백분율이 아님: {value}"),
    ("expected a number from 0 to 1, not {value}", "0에서 1까지의 수가 아님: {value}"),
    ("expected a duration of at least 1ms, not {value}", "1ms 이상의 시간이 아님: {value}"),
    ("expected a duration of at most 10 years, not {value}", "10년 이하의 시간이 아님: {value}"),
    (
        "expected a duration such as \"30s\" or \"1h 30m\", not {value}: {why}",
        "시간이 아님: {value}. 예: \"30s\", \"1h 30m\" ({why})",
    ),
    (
        "a size needs a unit, as in \"64MiB\", \"10GB\" or \"1500B\": {value} has none",
        "크기에 단위가 없음: {value}. 예: \"64MiB\", \"10GB\", \"1500B\"",
    ),
    (
        "expected a size above 0, as in \"64MiB\", \"10GB\" or \"1500B\", not {value}",
        "0보다 큰 크기가 아님: {value}. 예: \"64MiB\", \"10GB\", \"1500B\"",
    ),
    (
        "expected ip:port such as {example}, not {value}",
        "ip:port 형식이 아님: {value}. 예: {example}",
    ),
    (
        "{host} is not the address of one host: expected the address that other hosts use",
        "호스트 한 대의 주소가 아님: {host}. 다른 호스트가 사용하는 주소를 쓰십시오",
    ),
    ("expected an IP such as {example}, not {value}", "IP 주소가 아님: {value}. 예: {example}"),
    (
        "expected an address or a network such as {example}, not {value}",
        "주소나 네트워크가 아님: {value}. 예: {example}",
    ),
    (
        "expected a host and a port such as {example}, not {value}",
        "호스트와 포트가 아님: {value}. 예: {example}",
    ),
    (
        "expected the name of a network interface such as {example}, not {value}",
        "네트워크 인터페이스의 이름이 아님: {value}. 예: {example}",
    ),
    (
        "expected the name of a host such as {example}, without a scheme and a port, not {value}",
        "호스트 이름이 아님: {value}. 스킴과 포트 없이 쓰십시오. 예: {example}",
    ),
    (
        "expected a list such as [\"a\", \"b\"], not {value}",
        "목록이 아님: {value}. 예: [\"a\", \"b\"]",
    ),
    ("expected a table such as {example}, not {value}", "표가 아님: {value}. 예: {example}"),
    ("expected a token, in quotes", "토큰은 따옴표 안에 써야 합니다"),
    (
        "a token is 16 to 1024 visible ASCII characters without blanks",
        "토큰은 공백 없는 ASCII 문자 16자에서 1024자까지입니다",
    ),
    ("{host} is already entry {n}", "{n}번째 항목에 이미 있음: {host}"),
    // Settings against each other.
    (
        "expected at most {n}, not {value}: the limit for one file",
        "파일 하나의 한도는 {n} 이하여야 함: {value}",
    ),
    ("must not be above {key}: {values}", "{key} 이하여야 함: {values}"),
    ("must be below {key}: {values}", "{key}보다 작아야 함: {values}"),
    ("token is set as well: expected one of the two", "token도 설정됨. 둘 중 하나만 쓰십시오"),
    ("{host} is not in hosts.{side}", "hosts.{side}에 없음: {host}"),
    ("contradicts share.max_ttl", "share.max_ttl과 모순됨"),
    ("is missing: {other} is set", "설정되지 않음. {other}은(는) 설정되어 있습니다"),
    (
        "is missing: TLS between nodes needs all three files",
        "설정되지 않음. 노드 사이의 TLS에는 파일 세 개가 모두 필요합니다",
    ),
    (
        "is missing: other nodes cannot reach {address}. Set it to an address of this host",
        "설정되지 않음. 다른 노드가 {address}에 연결할 수 없습니다. 이 호스트의 주소를 쓰십시오",
    ),
    (
        "has no effect without cluster.listen: set that too",
        "cluster.listen이 없으면 효과가 없습니다. 함께 설정하십시오",
    ),
    (
        "has no effect without tls.certificate and tls.key: set both",
        "tls.certificate와 tls.key가 없으면 효과가 없습니다. 둘 다 설정하십시오",
    ),
    (
        "other hosts can reach {address}, and tokens would cross the network unencrypted. Set tls.certificate and tls.key (\"reelyard certs\" makes them), or insecure = true to accept that",
        "다른 호스트가 {address}에 연결할 수 있어 토큰이 암호화되지 않은 채 전송됩니다. tls.certificate와 tls.key를 설정하거나 (\"reelyard certs\"로 만듦) 받아들이려면 insecure = true로 두십시오",
    ),
    // Files and directories that settings name.
    ("{path} cannot be read: {why}", "{path}: 읽을 수 없음: {why}"),
    ("{path} is not a directory", "디렉터리가 아님: {path}"),
    ("{path} is not a file", "파일이 아님: {path}"),
    ("{path} is not an absolute path", "절대 경로가 아님: {path}"),
    (
        "{path} does not exist; it is read as soon as it exists",
        "없는 파일: {path}. 생기는 즉시 읽습니다",
    ),
    ("expected {wanted}, not {value}", "허용되지 않는 값: {value}. 가능한 값: {wanted}"),
];
