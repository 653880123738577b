import { type FollowedLogs, type LogLine, lineMatches } from '../../core/boxes/index.ts'
import { serviceWords } from './service-words.ts'

/** Older lines are dropped. */
export const maxShownLines = 1000

/** Lines on the page, and what to say about the stream. */
export type ShownLogs = Readonly<{ lines: readonly LogLine[]; note: string | undefined }>

export const noLogs: ShownLogs = { lines: [], note: undefined }

/** The lines after a message of the stream; an end stays until lines come again. */
export function withMessage({ lines }: ShownLogs, message: FollowedLogs): ShownLogs {
  if (message.end) return { lines, note: message.end.message }
  return { lines: [...lines, ...message.lines].slice(-maxShownLines), note: message.leftOut ? serviceWords.leftOut : undefined }
}

/** One text of the lines that match the filter. */
export const logText = (lines: readonly LogLine[], filter: string): string =>
  lines
    .filter((line) => lineMatches(line, filter))
    .map(({ at, service, text }) => `${at.slice(11, 19)} ${service.padEnd(8)} ${text}`)
    .join('\n')
