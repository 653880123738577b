import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BoxImport } from '../../src/core/boxes/index.ts'
import { dockerEnvironment, testbedExists } from '../testbed/testbed.ts'
import { type Conversation, converse } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { boxPorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'
import { type StackSpec, stackSpecs, startStack, type WrittenStack } from './support/written-stack.ts'

// An operator imports a stack that people use, with the programs alone: it is a box, and returns; a killed agent ends it one way or the other.
// After that it is a box like any other: it has additions of its own, is updated, drilled, and removed although it is broken.

describe.skipIf(!testbedExists())('an operator', () => {
  let fleet: Fleet
  let stack: WrittenStack
  let talk: Conversation
  const slug = 'imp-story'
  const proxy = `${slug}-proxy`
  const boxFolder = () => join(fleet.folder, 'boxes', slug)
  const imported = async (): Promise<BoxImport> => (await fleet.api.boxes.showBox({ params: { slug } })).import as BoxImport
  const docker = async (...args: string[]) => {
    const { docker: program } = fleet.testbed
    return execa(program, args, { env: dockerEnvironment(fleet.testbed), extendEnv: false, reject: false })
  }

  beforeAll(async () => {
    fleet = await startFleet()
    await fleet.applySynapse('1.157.1')
    const spec = (await stackSpecs()).find(({ name }) => name === 'own-role') as StackSpec
    stack = await startStack(spec, { testbed: fleet.testbed, folder: join(fleet.folder, slug), slug, port: boxPorts().public })
    talk = await converse(stack.open, 3)
    const about = ['--name', 'Story', '--plan', 'light', '--domain', stack.chatDomain, '--host', 'host-1', '--folder', stack.folder]
    await fleet.must('boxes', 'adopt', slug, ...about, '--project', slug)
  })
  logOnFailure(() => fleet)
  afterAll(async () => {
    if (!fleet) return
    await docker('rm', '-f', `${slug}-stranger`, `box-${slug}-irc-1`)
    await docker('network', 'rm', proxy, `box-${slug}_default`, `${slug}_default`)
    await fleet.end()
    // Finishing leaves the volumes of the stack.
    await docker('volume', 'rm', ...['db', 'media', 'objects'].map((key) => `${slug}_${key}`))
  })

  test('plans an import, kills the agent in the middle of it, and the stack or the box serves in the end', async () => {
    expect((await fleet.must('boxes', 'show', slug)).stdout).toMatch(/only observed\. fix: tenantry boxes import imp-story --plan/)
    const planned = await fleet.must('boxes', 'import', slug, '--plan')
    expect(planned.stdout).toMatch(/imp-story can be imported\./)
    expect(planned.stdout).toMatch(/synapse in imp-story-postgres-1, user synapse_user/)
    const blocked = await fleet.tenantry('boxes', 'import', slug, '--plan', '--json', '--drop', 'mial')
    expect(blocked.json<{ blockers: string[] }>().blockers).toEqual([expect.stringMatching(/^--drop mial names nothing/)])
    expect(blocked.exitCode).toBe(7)
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
    expect((await imported()).facts?.databaseCopy).toEqual({ mode: 'hot' })
    const roles = [
      'psql',
      '-h',
      '127.0.0.1',
      '-U',
      'postgres',
      '-Atc',
      "select string_agg(rolname, ' ' order by oid) from pg_roles where rolcanlogin",
    ]
    expect((await docker('exec', `box-${slug}-postgres-1`, ...roles)).stdout.trim()).toBe('postgres synapse')
    await fleet.must('boxes', 'import', slug, '--finish', '--reason', 'checked', '--yes')
    expect((await imported()).state).toBe('finished')
    expect(await stack.containers()).toEqual([])
    const again = await fleet.tenantry('boxes', 'import', slug, '--undo', '--reason', 'too late', '--yes')
    expect(again.stderr).toMatch(/the import of imp-story is finished/)
    expect(again.exitCode).not.toBe(0)
  })

  test('adds to the box what survives its update, on a network on which a stranger has the name of its chat server', async () => {
    const { images } = fleet.testbed
    await docker('network', 'create', proxy)
    const stranger = [
      'run',
      '-d',
      '--name',
      `${slug}-stranger`,
      '--network',
      proxy,
      '--network-alias',
      'synapse',
      '--network-alias',
      'minio',
    ]
    await docker(...stranger, images.edge.ref)
    const additions = (image: string) => `services:
  edge: { labels: { school: story }, networks: [default, ${proxy}] }
  postgres: { command: [postgres, -c, work_mem=7MB] }
  ${image}
networks: { ${proxy}: { external: true } }
`
    const path = join(boxFolder(), 'compose.extra.yaml')
    await writeFile(path, additions('synapse: { image: "other:1" }'), { mode: 0o600 })
    await fleet.must('boxes', 'scan', slug)
    await fleet.applySynapse('1.163.2')
    const refused = await fleet.tenantry('rollouts', 'plan', '--target', slug)
    expect(`${refused.stdout}${refused.stderr}`).toMatch(/image of synapse belongs to the box template/)

    await writeFile(path, additions(`irc: { image: "${images.edge.ref}" }`), { mode: 0o600 })
    const files = ['--file', join(boxFolder(), 'compose.yaml'), '--file', path]
    const brought = await docker('compose', '--project-name', `box-${slug}`, ...files, '--env-file', '/dev/null', 'up', '-d')
    expect(brought.stderr).not.toMatch(/error/i)
    await eventually('the chat server answers', async () => (await fleet.tenantry('boxes', 'check', slug)).exitCode === 0)
    await fleet.must('boxes', 'scan', slug)
    const made = await fleet.tenantry('rollouts', 'create', '--target', slug, '--start', '--wait', '--json')
    expect([made.exitCode, made.stderr]).toEqual([0, expect.any(String)])
    expect((await fleet.api.boxes.showBox({ params: { slug } })).installed.synapse).toBe('1.163.2')
    const edge = await docker('inspect', '-f', '{{.Config.Labels.school}} {{json .NetworkSettings.Networks}}', `box-${slug}-edge-1`)
    expect(edge.stdout).toMatch(new RegExp(`^story .*${proxy}`))
    const setting = await docker('exec', `box-${slug}-postgres-1`, 'psql', '-h', '127.0.0.1', '-U', 'postgres', '-tc', 'show work_mem')
    expect(setting.stdout.trim()).toBe('7MB')
    // Every second of these would go to the stranger if the edge asked for the name alone.
    const answers = Array.from({ length: 12 }, () => fetch(`${stack.open.publicUrl}/_matrix/client/versions`).then(({ ok }) => ok))
    expect(await Promise.all(answers)).toEqual(Array(12).fill(true))
    await fleet.must('snapshots', 'take', slug, '--wait')
    await fleet.must('snapshots', 'drill', slug)
  })

  test('removes the box although it is broken, and learns what stays', async () => {
    await docker('stop', '-t', '1', `box-${slug}-synapse-1`)
    await docker('rm', '-f', `box-${slug}-postgres-1`)
    const remove = () => fleet.tenantry('boxes', 'remove', slug, '--now', '--reason', 'it broke', '--confirm', slug)
    const kept = await remove()
    expect(kept.stdout).toMatch(/No last snapshot was taken: postgres of imp-story does not run/)
    expect([kept.exitCode, kept.stdout]).toEqual([1, expect.stringMatching(/removal +kept/)])
    const erased = await remove()
    expect([erased.exitCode, erased.stdout]).toEqual([0, expect.stringMatching(/removal +erased/)])
    expect(erased.stdout).toMatch(new RegExp(`left: container box-${slug}-irc-1`))
    const left = await docker('ps', '-a', '--filter', `label=com.docker.compose.project=box-${slug}`, '--format', '{{.Names}}')
    expect(left.stdout).toBe(`box-${slug}-irc-1`)
    const volumes = await docker('volume', 'ls', '-q', '--filter', `label=com.docker.compose.project=box-${slug}`)
    expect(volumes.stdout).toBe('')
  })
})
