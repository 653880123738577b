import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'

test('the unit of the agent leaves it what it needs to read whose a program in a container is, and to end it', async () => {
  const unit = await readFile('deploy/tenantry-agent.service', 'utf8')
  const rights = /^CapabilityBoundingSet=(.*)$/m.exec(unit)?.[1]?.split(' ')
  // /proc/<pid>/environ of another user, or of one with rights that the reader lacks, needs SYS_PTRACE.
  expect(rights).toEqual(expect.arrayContaining(['CAP_SYS_PTRACE', 'CAP_KILL']))
})
