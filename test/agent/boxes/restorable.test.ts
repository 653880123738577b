import { expect, test } from 'vitest'
import { reasonNotRestorable } from '../../../src/agent/boxes/index.ts'
import type { LocalBox } from '../../../src/agent/ports/index.ts'
import { aHost, composeText } from '../simulated/boxes.ts'
import { composeForms } from '../suites/compose-forms.ts'

composeForms('volumes as the simulated compose reads them', async () => (await aHost()).engine)

const project = { name: 'box-oak', folder: '/srv/oak', composeFile: '/srv/oak/compose.yaml' }
const box = { slug: 'oak', project, managed: true } as LocalBox

test('a box is not restorable where compose leaves a service out, or mounts something else', async () => {
  const { engine } = await aHost()
  const text = composeText('oak')
  const without = async () => {
    const whole = await engine.resolveCompose(project, text)
    const { postgres: _, ...services } = whole.services as Record<string, unknown>
    return { ...whole, services }
  }
  expect(await reasonNotRestorable({ engine: { resolveCompose: without } }, box, text)).toMatch(/does not start postgres.*profiles/)
  const stubborn = async () => engine.resolveCompose(project, text)
  expect(await reasonNotRestorable({ engine: { resolveCompose: stubborn } }, box, text)).toMatch(
    /would not mount the restored volumes of postgres/,
  )
})

test('a managed box is not restorable where an image cannot be changed; an observed one still gets its images written out', async () => {
  const { engine } = await aHost()
  const text = `x-i: &i a.test/edge:1\n${composeText('oak', { edge: 'E' }).replace('"E"', '*i')}`
  expect(await reasonNotRestorable({ engine }, box, text)).toMatch(/takes the image of edge from an alias/)
  expect(await reasonNotRestorable({ engine }, { ...box, managed: false }, text)).toBeUndefined()
})
