import { link, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { UpdateWorld } from '../../core/boxes/index.ts'
import { isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import { fenceSwitch } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { UpdateRun } from './update-run.ts'

/** Whose fence stands. What cannot be read as ours is another's. */
export async function fenceOf(box: LocalBox, commandId: string): Promise<UpdateWorld['fence']> {
  const text = await readIfThere(fenceSwitch(box.project))
  if (text === undefined) return 'absent'
  return ownerOf(text) === commandId ? 'ours' : 'other'
}

function ownerOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { commandId?: unknown }).commandId
  } catch {
    return undefined
  }
}

/**
 * Closes the edge. The file appears whole, by a link: a half-written one would be nobody's, and no one would dare to remove it.
 * Throws BOX_HELD when another action has fenced the box.
 */
export async function raiseFence({ box, context, payload, elapsedMs, needs }: UpdateRun): Promise<void> {
  const path = fenceSwitch(box.project)
  const prepared = join(dirname(path), '.on.new')
  const deadlineAt = isoIn(needs.clock, payload.deadlineMs - elapsedMs())
  const text = `${JSON.stringify({ commandId: context.commandId, raisedAt: isoNow(needs.clock), deadlineAt })}\n`
  await writeFileAtomic(prepared, text, { mode: 0o644 })
  try {
    await link(prepared, path)
  } catch (error) {
    if ((await fenceOf(box, context.commandId)) !== 'ours')
      throw problem('BOX_HELD', `the box ${box.slug} cannot be fenced: see what is in ${path}`, { cause: error })
  } finally {
    await rm(prepared, { force: true })
  }
  await syncFolder(dirname(path))
}

/** Opens the edge again; a fence of another action stays. */
export async function liftFence({ box, context }: UpdateRun): Promise<void> {
  if ((await fenceOf(box, context.commandId)) !== 'ours') return
  const path = fenceSwitch(box.project)
  await rm(path, { force: true })
  await syncFolder(dirname(path))
}
