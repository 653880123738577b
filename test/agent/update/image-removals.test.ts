import { expect, test } from 'vitest'
import type { ContainerEngine } from '../../../src/agent/ports/index.ts'
import { imageRemovals } from '../../../src/agent/update/index.ts'

const image = 'registry.test/tenantry/synapse:v1.163.2'

test.each(['pull', 'localDigest'] as const)('no %s begins while an image goes: its layers would count as here', async (call) => {
  const removals = imageRemovals()
  const seen: string[] = []
  let end: () => void = () => undefined
  const removal = removals.exclusive(async () => {
    await new Promise<void>((resolve) => {
      end = resolve
    })
    seen.push('removed')
  })
  const engine = { [call]: async () => String(seen.push(call)) } as unknown as ContainerEngine
  const called = removals.waitForRemovals(engine)[call](image, {})
  await new Promise((resolve) => setImmediate(resolve))
  end()
  await Promise.all([removal, called])
  expect(seen).toEqual(['removed', call])
})
