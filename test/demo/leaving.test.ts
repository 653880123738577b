import { expect, test } from 'vitest'
import { simulatedFleet } from '../../src/demo/fleet.ts'
import { provisionFleet } from '../../src/demo/stage.ts'

test('Ctrl-C during provisioning ends the wait', async () => {
  const leaving = new AbortController()
  const boxes = {
    provisionBox: async () => undefined,
    listBoxes: async () => {
      leaving.abort(new Error('Ctrl-C'))
      return { boxes: [] }
    },
  }
  const stage = { api: { boxes } } as unknown as Parameters<typeof provisionFleet>[0]
  await expect(provisionFleet(stage, { boxes: simulatedFleet.boxes, onReady: () => undefined }, leaving.signal)).rejects.toThrow('Ctrl-C')
})
