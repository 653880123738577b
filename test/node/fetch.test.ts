import { expect, test } from 'vitest'
import { settlingFetch } from '../../src/node/index.ts'
import { closingPeer } from '../support/closing-peer.ts'

test('a peer that closes at once is a failure and not for ever', async () => {
  await expect(settlingFetch(await closingPeer())).rejects.toThrow('fetch failed')
})
