import { z } from 'zod'
import type { CommandOutcome } from '../../core/hosts/index.ts'

/** What changes of a box answer beside all else: how they ended, and why where it was not as asked. */
const Ending = z.object({ outcome: z.string(), error: z.object({ code: z.string(), message: z.string() }).nullish() })

/** An outcome as one line of the agent's log. A change that was undone is a command that went well: the line must tell it all the same. */
export function howItEnded(outcome: CommandOutcome): Readonly<Record<string, unknown>> {
  if (!outcome.ok) return { ok: false, ...saying(outcome.error) }
  const ending = Ending.safeParse(outcome.result)
  if (!ending.success) return { ok: true }
  return { ok: true, outcome: ending.data.outcome, ...(ending.data.error ? saying(ending.data.error) : {}) }
}

const saying = ({ code, message }: { code: string; message: string }) => ({ code, why: message.slice(0, 500) })
