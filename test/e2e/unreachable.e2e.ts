import { expect, test } from 'vitest'
import { closingPeer } from '../support/closing-peer.ts'
import { run } from './support/programs.ts'

test.each([1, 2, 3])(
  'a peer that closes at once is reported, time %i: Node.js loads its parser meanwhile and may miss the close',
  async () => {
    const url = await closingPeer()
    const ran = await run('tenantry', ['boxes', 'list'], { TENANTRY_URL: url, TENANTRY_TOKEN: 'none' })
    expect(ran).toMatchObject({ exitCode: 6, stderr: expect.stringContaining(`${url} does not answer`) })
  },
)
