import { answerRequests } from "../helper-process/helper-process.ts";
import { startDetached } from "./detached-process.ts";

answerRequests(startDetached);
