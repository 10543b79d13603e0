//! Titles of pages that the node refuses, and the next step for each.

use super::texts;

texts! {
    FORBIDDEN = "You may not see or do this", "권한이 없습니다";
    FORBIDDEN_NEXT = "Sign in as a user with the right for it, or ask an administrator.", "권한이 있는 사용자로 로그인하거나 관리자에게 문의하십시오.";
    FOREIGN = "The form is not of this session", "이 세션의 양식이 아닙니다";
    FOREIGN_NEXT = "Nothing was done. Load the page again, and send it once more.", "아무 작업도 하지 않았습니다. 페이지를 다시 연 뒤 다시 보내십시오.";
    SIGNED_OUT = "Your session has ended", "세션이 끝났습니다";
    SIGNED_OUT_NEXT = "Nothing was done. Sign in, go back, and send it again.", "아무 작업도 하지 않았습니다. 로그인한 뒤 뒤로 가서 다시 보내십시오.";
    SIGN_IN = "Sign in", "로그인";
    STILL_TYPED = "Nothing was done, and what you typed is still here. Sign in on another tab, then press the button again.", "아무 작업도 하지 않았으며, 입력한 내용은 그대로 있습니다. 다른 탭에서 로그인한 뒤 버튼을 다시 누르십시오.";
    SESSION_ENDED_NEXT = "The page shows the state before that. Sign in on another tab: then it goes on here.", "세션이 끝나기 전의 상태를 보여 줍니다. 다른 탭에서 로그인하면 이 페이지가 다시 갱신됩니다.";
    NO_ANSWER = "The node does not answer", "노드가 응답하지 않습니다";
    NO_ANSWER_NEXT = "It may be starting. Nothing was done, and what you typed is still here. Press the button again in a moment.", "시작 중일 수 있습니다. 아무 작업도 하지 않았으며, 입력한 내용은 그대로 있습니다. 잠시 후 버튼을 다시 누르십시오.";
    OTHER_ACCOUNT = "Another account is signed in", "다른 계정으로 로그인되어 있습니다";
    OTHER_ACCOUNT_NEXT = "Nothing was done. Load the page again to act with that account.", "아무 작업도 하지 않았습니다. 현재 계정으로 작업하려면 페이지를 다시 여십시오.";
    NOT_FOUND = "There is nothing at this address", "이 주소에는 아무것도 없습니다";
    NOT_FOUND_NEXT = "It may have ended or been removed. Go back, or begin at the first page.", "끝났거나 제거되었을 수 있습니다. 뒤로 가거나 첫 페이지에서 시작하십시오.";
    CONFLICT = "It is not possible now", "지금은 할 수 없습니다";
    CONFLICT_NEXT = "Nothing was done. Look at the present state, and then act again.", "아무 작업도 하지 않았습니다. 현재 상태를 확인한 뒤 다시 시도하십시오.";
    TOO_MANY = "There were too many attempts", "시도 횟수가 너무 많습니다";
    TOO_MANY_NEXT = "Wait a moment, and then load the page again.", "잠시 기다린 뒤 페이지를 다시 여십시오.";
    STARTING = "The node is starting", "노드가 시작 중입니다";
    STARTING_NEXT = "It reads its journal. This page loads again by itself.", "저널을 읽고 있습니다. 이 페이지는 자동으로 다시 열립니다.";
    FULL = "The disk of the node is full", "노드의 디스크가 가득 찼습니다";
    FULL_NEXT = "Nothing was done. Make room on it, and send it again.", "아무 작업도 하지 않았습니다. 공간을 확보한 뒤 다시 보내십시오.";
    BUSY = "The node cannot answer now", "노드가 지금 응답할 수 없습니다";
    BUSY_NEXT = "It is stopping or busy. Load the page again in a moment.", "종료 중이거나 바쁩니다. 잠시 후 페이지를 다시 여십시오.";
    OTHER = "The node refused the request", "노드가 요청을 거부했습니다";
    OTHER_NEXT = "Go back, correct the value, and send it again.", "뒤로 가서 값을 고친 뒤 다시 보내십시오.";
    DETAIL = "In the words of the node", "노드의 답변";
    TO_YARD = "To the first page", "첫 페이지로";
}
