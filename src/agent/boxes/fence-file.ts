import { join } from 'node:path'
import { readIfThere } from '../../node/index.ts'
import type { Project } from '../ports/index.ts'

/** Undefined when the box is not fenced. */
export async function readFence(project: Project): Promise<Fence | undefined> {
  const text = await readIfThere(fenceFile(project))
  if (text === undefined) return undefined
  const { commandId, holder = commandId, raisedAt, reason } = asRecord(text)
  return {
    holder: typeof holder === 'string' && holder !== '' ? holder.slice(0, 200) : 'unknown',
    since: typeof raisedAt === 'string' ? raisedAt.slice(0, 40) : null,
    ...(typeof reason === 'string' ? { reason: reason.slice(0, 300) } : {}),
  }
}

/** Content of the fence file. `holder` is a command id, `maintenance`, or `unknown` for a foreign file. */
export type Fence = Readonly<{ holder: string; since: string | null; reason?: string }>

function asRecord(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** While this file exists, the edge answers 503 (`config/box-template/edge`). */
export const fenceFile = (project: Project): string => join(project.folder, 'edge', 'fence', 'on')
