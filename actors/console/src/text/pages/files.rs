//! Texts of the page Files.

use crate::text::texts;

texts! {
    SENTENCE = "{all}: {placed} placed, {waiting} waiting", "{all}: 배치됨 {placed}, 순서 대기 {waiting}";
    SENTENCE_COPYING = "{n} copying", "복사 중 {n}";
    SENTENCE_REACH = "{n} out of reach", "접근 불가 {n}";
    SENTENCE_IGNORED = "{n} ignored", "제외 {n}";
    SENTENCE_PROBLEM = "{n} cannot be placed", "배치 불가 {n}";
    FIELD = "Part of the name", "이름의 일부";
    STATES = "State", "상태";
    PROBLEM = "Blocked", "배치 불가";
    HOT = "Hot", "급상승";
    HOST_MENU = "Host", "호스트";
    STATUS_HOT = "{n}, in the order in which they are placed", "{n}, 배치 순서대로";
    CAPTION = "Files", "파일 목록";
    WHERE = "Where it is", "배치 위치";
    HITS = "Hits in 10 min", "10분간 요청";
    A_DAY = "A day", "하루";
    SCORE = "A day per TiB", "하루, TiB당";
    MORE_COPIES = "+{n}", "외 {n}";
    EMPTY_FILTER = "No file has “{text}” in its name", "이름에 “{text}”가 들어간 파일이 없음";
    EMPTY_STATE = "No file is in this state", "이 상태의 파일 없음";
    EMPTY_SETUP = "Nothing is ranked yet", "순위 정보 없음";
    EMPTY_SETUP_BODY = "This node has no ranking to plan by. Name one in its configuration, then reload:", "이 노드에는 배치 기준이 되는 순위가 없습니다. 설정에 지정한 다음 다시 읽으십시오.";
    HOW_TO_BEGIN = "How to begin", "시작하는 방법";
    ASK_COPY = "Copy {name} now?", "지금 복사하시겠습니까? {name}";
    PIN_MANY = "Pin", "고정";
    UNPIN_MANY = "Unpin", "고정 해제";
}
