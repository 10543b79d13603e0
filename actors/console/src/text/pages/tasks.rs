//! Texts of the page Tasks.

use crate::text::{count_texts, texts};

texts! {
    SENTENCE = "{running} run, {ready} are about to begin, {waiting} wait.", "진행 {running}, 시작 대기 {ready}, 순서 대기 {waiting}.";
    SENTENCE_FAILED = "In the last hour {done} were done and {failed} failed, by {causes}.", "지난 1시간 동안 완료 {done}, 실패 {failed}, {causes}.";
    SENTENCE_GOOD = "In the last hour {done} were done and none failed.", "지난 1시간 동안 완료 {done}, 실패 없음.";
    BY_CAUSE = "Failed in the last hour, by cause", "지난 1시간 실패, 원인별";
    RETRY_N = "Retry {n}", "{n}건 다시 시도";
    CAUSE_GONE = "a cause of more than an hour ago", "1시간 넘게 지난 원인";
    SHOW = "Show", "보기";
    NOTHING_TO_DO = "Nothing to do: planned elsewhere", "할 일 없음: 다른 곳에 계획됨";
    BLAMED = "Blamed", "원인";
    BLAMED_ANYONE = "anyone", "전체";
    BLAMED_SOURCE = "source", "원본 서버";
    BLAMED_DESTINATION = "destination", "저장 서버";
    BLAMED_FILE = "file", "파일";
    FIRST_LAST = "first {first}, last {last}", "처음 {first}, 마지막 {last}";
    FIELD = "File, host or task number", "파일, 호스트 또는 작업 번호";
    OPEN = "Open", "진행";
    HOST_MENU = "Host", "호스트";
    CAPTION = "Tasks", "작업 목록";
    CANCEL_ONE = "Cancel {name}", "취소: {name}";
    RETRY_ONE = "Retry {name}", "다시 시도: {name}";
    REASON = "Reason", "사유";
    EMPTY_FAILED = "No copy failed in the last hour", "지난 1시간 동안 실패한 복사 없음";
    EMPTY_FAILED_BODY = "{n} were done.", "완료 {n}.";
    EMPTY_ALL = "No copy was planned yet", "아직 계획한 복사 없음";
    EMPTY_ALL_BODY = "The page Plan says what holds the planner back.", "배치 계획 페이지에 계획을 막는 이유가 있습니다.";
    SEE_PLAN = "Open Plan", "배치 계획 열기";
    EMPTY_FILTER = "No task has “{text}” in its file, host or number", "파일, 호스트, 번호에 “{text}”가 들어간 작업이 없음";
    EMPTY_STATE = "No task is in this state", "이 상태의 작업 없음";
    RETRY_MANY = "Retry…", "다시 시도…";
    CANCEL_MANY = "Cancel…", "취소…";
    VERB_CANCEL = "Cancel copies", "복사 취소";
    ASK_CANCEL_TEXT = "A running copy ends now. The planner may plan the same file again.", "지금 종료합니다. 같은 파일의 복사를 다시 계획할 수 있습니다.";
    LEFT_OUT_NOT_FAILED = "Left out, because they have not failed, or another task replaced them: {tasks}.", "실패하지 않았거나 다른 작업으로 대체되어 제외: {tasks}.";
    LEFT_OUT_NOT_OPEN = "Left out, because they have ended: {tasks}.", "이미 끝나서 제외: {tasks}.";
    ASK_RETRY_TEXT = "Each is planned again. Copies that are planned elsewhere are left out.", "각각 다시 계획합니다. 다른 곳에 계획된 복사는 제외합니다.";
}

count_texts! {
    ASK_CANCEL = "Cancel {n} copy?" | "Cancel {n} copies?", "복사 {n}건을 취소하시겠습니까?";
    RETRY_ALL = "Retry {n} that can be…" | "Retry all {n} that can be…", "가능한 {n}건 모두 다시 시도…";
    ASK_RETRY = "Retry {n} copy?" | "Retry {n} copies?", "복사 {n}건을 다시 시도하시겠습니까?";
}
