import { localText } from '../wall-clock/index.ts'

/** Why a message that says a phrase started nothing. `startedAt`: of the open run, or of the last start; null for a refused start and a late message. */
export type ChatAnswer = Readonly<{ why: 'open' | 'cooldown' | 'late' | 'failed'; startedAt: string | null }>

type Facts = ChatAnswer & Readonly<{ board: string; timeZone: string }>

/** The text that the bot writes into the room, so that no one waits for a run that never comes. */
export function chatAnswer({ why, startedAt, board, timeZone }: Facts): string {
  const at = startedAt === null ? '' : localText(startedAt, timeZone)
  const byHand = 'start a run by hand'
  switch (why) {
    case 'open':
      return `A run of "${board}" is open since ${at}, so this message started nothing new. Complete or cancel it, or ${byHand}.`
    case 'cooldown':
      return `A run of "${board}" started at ${at}, so this message started nothing new. If you need another one, ${byHand}.`
    case 'late':
      return `A message was read more than an hour after it was written, so it started no run of "${board}". If you need one now, ${byHand}.`
    case 'failed':
      return `This message started no run of "${board}": the start was refused. If you need one now, ${byHand}, and ask an administrator.`
  }
}

/** One answer of a board in a room within this time, and one at least for each run. */
export const answerEveryMs = 10 * 60_000
