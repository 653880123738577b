import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BoxImport } from '../../src/core/boxes/index.ts'
import { dockerEnvironment, testbedExists } from '../testbed/testbed.ts'
import { type Conversation, converse } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { boxPorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'
import { importRoot, type StackSpec, stackSpecs, startStack, type WrittenStack } from './support/written-stack.ts'

// An operator imports a stack that people use, with the programs alone: it is a box, and returns; a killed agent ends it one way or the other.

describe.skipIf(!testbedExists())('an operator', () => {
  let fleet: Fleet
  let stack: WrittenStack
  let talk: Conversation
  const slug = 'imp-story'
  const imported = async (): Promise<BoxImport> => (await fleet.api.boxes.showBox({ params: { slug } })).import as BoxImport

  beforeAll(async () => {
    fleet = await startFleet()
    await fleet.applySynapse('1.163.2')
    const spec = (await stackSpecs(importRoot)).find(({ name }) => name === 'own-role') as StackSpec
    stack = await startStack(spec, { testbed: fleet.testbed, folder: join(fleet.folder, slug), slug, port: boxPorts().public })
    talk = await converse(stack.open, 3)
    const about = ['--name', 'Story', '--plan', 'light', '--domain', stack.chatDomain, '--host', 'host-1', '--folder', stack.folder]
    await fleet.must('boxes', 'adopt', slug, ...about, '--project', slug)
  })
  logOnFailure(() => fleet)
  afterAll(async () => {
    if (!fleet) return
    await fleet.end()
    const { docker } = fleet.testbed
    const options = { env: dockerEnvironment(fleet.testbed), extendEnv: false, reject: false } as const
    // Finishing leaves the volumes of the stack.
    await execa(docker, ['volume', 'rm', ...['db', 'media', 'objects'].map((key) => `${slug}_${key}`)], options)
  })

  test('kills the agent in the middle of an import, and the stack or the box serves in the end', async () => {
    const command = ['boxes', 'import', slug, '--reason', 'one of ours', '--yes']
    const running = fleet.tenantry(...command)
    await eventually(
      'the stack is stopped',
      async () =>
        !(await fetch(`${stack.open.publicUrl}/health`).then(
          ({ ok }) => ok,
          () => false,
        )),
    )
    await fleet.agent.kill('SIGKILL')
    fleet.agent.start()
    const ran = await running
    expect(ran.stdout).toMatch(/is stopped and complete/)
    expect(ran.exitCode).toBe(0)
    await talk.expectComplete()
    await talk.say('a message in the box')
  })

  test('sees the way back, takes a snapshot of the box and drills it, and returns to the stack', async () => {
    const shown = (await fleet.must('boxes', 'show', slug)).stdout
    expect(shown).toMatch(/import +imported/)
    expect(shown).toMatch(/--undo/)
    expect((await fleet.api.boxes.showBox({ params: { slug } })).managed).toBe(true)
    await fleet.must('snapshots', 'take', slug, '--wait')
    await fleet.must('snapshots', 'drill', slug)
    const planned = await fleet.must('boxes', 'import', slug, '--finish')
    expect(planned.stdout).toMatch(new RegExp(`container ${slug}-synapse-1`))
    expect((await imported()).state).toBe('imported')
    const undone = await fleet.tenantry('boxes', 'import', slug, '--undo', '--reason', 'a bridge is missing', '--yes')
    expect(undone.stderr).toMatch(/and not in the stack .*1 event and 0 media/)
    expect(undone.stdout).toMatch(/undone/)
    expect(undone.exitCode).toBe(0)
    expect(await fleet.api.boxes.showBox({ params: { slug } })).toMatchObject({ managed: false, folder: stack.folder, project: slug })
    await expect(talk.expectComplete()).rejects.toThrow(/to deeply equal/)
  })

  test('imports it again and finishes: the containers of the stack are gone, its volumes stay', async () => {
    await fleet.must('boxes', 'import', slug, '--reason', 'again', '--yes')
    await fleet.must('boxes', 'import', slug, '--finish', '--reason', 'checked', '--yes')
    expect((await imported()).state).toBe('finished')
    expect(await stack.containers()).toEqual([])
    const again = await fleet.tenantry('boxes', 'import', slug, '--undo', '--reason', 'too late', '--yes')
    expect(again.stderr).toMatch(/the import of imp-story is finished/)
    expect(again.exitCode).not.toBe(0)
  })
})
