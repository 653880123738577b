import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'

/** What Node calls its unfinished business with the disk. */
const isDisk = (resource: string): boolean => /^(FSReq|CloseReq|FileHandle)/.test(resource)

/** In a row: a turn in which nothing waits for the disk may be the one in which somebody begins to. */
const quietTurns = 2

/** After so many the disk is slow, and looking again and again would cost more than waiting. */
const busyTurns = 20

/**
 * Resolves once nothing in this thread waits for the disk: who still waits, waits for a clock or for somebody who does. With a virtual clock
 * that is the moment at which time may pass, however fast or slow the machine is.
 */
export async function untilIdle(): Promise<void> {
  for (let quiet = 0, busy = 0; quiet < quietTurns; ) {
    await (busy > busyTurns ? pause(1) : turn())
    const isBusy = process.getActiveResourcesInfo().some(isDisk)
    quiet = isBusy ? 0 : quiet + 1
    busy = isBusy ? busy + 1 : 0
  }
}
