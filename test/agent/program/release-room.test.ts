import { expect, test } from 'vitest'
import { spaceLedger } from '../../../src/agent/backup/index.ts'
import type { CommandExecutors } from '../../../src/agent/ports/index.ts'
import { releaseSpace } from '../../../src/agent/program/executors.ts'
import { aContext, aPayload } from '../update/an-update.ts'

test.each([
  ['came through', async () => 'done', { status: 'fulfilled', value: 'done' }],
  ['failed', () => Promise.reject(new Error('it broke')), { status: 'rejected', reason: new Error('it broke') }],
])('the room of a command that %s is free again, that of others is not', async (_, work, ends) => {
  const ledger = spaceLedger()
  const bytes = new Map([['a disk', 7]])
  ledger.reserve({ commandId: 'another', what: 'a snapshot of elm' }, bytes)
  const during: number[] = []
  const update = async () => {
    ledger.reserve({ commandId: aContext().commandId, what: 'updating oak' }, bytes)
    during.push(ledger.reservedForOthers('none', 'a disk').bytes)
    return work()
  }
  const executors = releaseSpace(ledger, { 'tenant-box.update': update } as unknown as CommandExecutors)
  const [end] = await Promise.allSettled([executors['tenant-box.update'](aContext(), aPayload())])
  expect(end).toEqual(ends)
  expect(during).toEqual([14])
  expect(ledger.reservedForOthers('none', 'a disk')).toEqual({ bytes: 7, to: ['a snapshot of elm'] })
})
