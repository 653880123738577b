import { describe, expect, test } from 'vitest'
import { imagesOfManifest, parseManifest } from '../../../src/core/boxes/index.ts'
import { secret } from '../../../src/core/kit/index.ts'
import { applyManifest, currentManifest } from '../../../src/daemon/boxes/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import type { Command } from '../../../src/daemon/hosts/index.ts'
import { askRegistries, type RolloutsDeps, startRollout } from '../../../src/daemon/rollouts/index.ts'
import { resolveManifest } from '../../../src/daemon/rollouts/resolve-manifest.ts'
import { createEmergency, createRollout, planEmergency, planStaged } from '../../../src/daemon/rollouts/testing.ts'
import { aManifest } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { inBetween, onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, emergencyWorld } from '../../support/emergencies.ts'
import { type BoxSpec, digestOf, newImage, rolloutWorld } from '../../support/rollout-world.ts'

const fleet: readonly BoxSpec[] = [
  { slug: 'acme', canary: true, host: 'amsel' },
  { slug: 'beta', host: 'sperling' },
  { slug: 'prima', plan: 'pro', host: 'sperling' },
  { slug: 'magna', plan: 'dedicated', host: 'zeisig' },
  { slug: 'corva', plan: 'dedicated', host: 'drossel' },
]
const postgres = 'registry.example/postgres:17.7'
const wanted = { skipRefused: false, allowLongFence: false, failureThreshold: 1 }
type Payload = Readonly<{ slug: string; images: string[]; withinMs: number }>
const payloadOf = ({ payload }: Command) => payload as Payload

async function aWorld(db: Db, boxes = fleet) {
  const world = await rolloutWorld(db, boxes)
  const deps: RolloutsDeps = { ...world.deps, askRegistries: askRegistries(world.deps) }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  /** The question to this host that is open now, once there is another than before. */
  const nextQuestion = async (before?: Command, host?: string) => {
    for (let turns = 0; turns < 20_000; turns++) {
      const asked = (await world.open()).find(
        ({ kind, id, hostId }) =>
          kind === 'tenant-box.resolve_images' && id !== before?.id && (host === undefined || hostId === `hst_${host}`),
      )
      if (asked) return asked
      await turn()
    }
    throw new Error('nobody was asked')
  }
  const slept = async () => {
    while (world.clock.sleepers() === 0) await turn()
  }
  const tell = (command: Command, digests: Readonly<Record<string, string | null>>) => {
    const error = { code: 'PULL_FAILED', message: 'the registry has no such tag' }
    const images = Object.entries(digests).map(([image, digest]) => ({ image, digest, error: digest === null ? error : null }))
    return world.answer(command.id, { images })
  }
  /** Answers of the first two hosts, which are asked at once: both get the same digests. */
  const tellBoth = async (digests: Readonly<Record<string, string | null>>) => {
    for (const host of ['amsel', 'sperling']) await tell(await nextQuestion(undefined, host), digests)
  }
  const plan = async () => (await planStaged(deps, { allowLongFence: false })).plan
  return { world, deps, nextQuestion, slept, tell, tellBoth, plan }
}

onBothDialects('the tags of a plan', (fresh) => {
  test('are asked for all at once, of the two hosts whose boxes go first', async () => {
    const { world, deps, nextQuestion, tell, plan } = await aWorld(await fresh())
    await applyManifest(deps as never, anOperator, aManifest({ synapse: '1.163.2', postgres: '17.7' }))
    const planning = plan()
    const question = await nextQuestion(undefined, 'amsel')
    expect([question.hostId, payloadOf(question)]).toEqual([
      'hst_amsel',
      { slug: 'acme', boxId: 'box_acme', ownershipEpoch: 1, images: [postgres, newImage], withinMs: 3_500 },
    ])
    await tell(question, { [postgres]: digestOf(postgres), [newImage]: digestOf(newImage) })
    const second = await nextQuestion(question, 'sperling')
    expect([second.hostId, payloadOf(second).images]).toEqual(['hst_sperling', [postgres, newImage]])
    await tell(second, { [postgres]: digestOf(postgres), [newImage]: digestOf(newImage) })
    const { images, boxes, warnings } = await planning
    expect(images).toEqual([
      { image: postgres, digest: digestOf(postgres), from: 'registry', askedFrom: 'amsel', confirmedBy: 'sperling' },
      { image: newImage, digest: digestOf(newImage), from: 'registry', askedFrom: 'amsel', confirmedBy: 'sperling' },
    ])
    expect(warnings).toBe(0)
    expect(boxes.map((box) => box.images.synapse?.digest)).toEqual(boxes.map(() => digestOf(newImage)))
    expect(await world.open()).toEqual([])
  })

  test('are pulled by what they were then, wherever they have moved since', async () => {
    const { world, deps, tellBoth } = await aWorld(await fresh())
    const creating = createRollout(deps, anOperator, wanted)
    await tellBoth({ [newImage]: digestOf(newImage) })
    const { id, digests, plan, auditLog } = await creating
    expect([digests, auditLog[0]?.data.digests]).toEqual([{ [newImage]: digestOf(newImage) }, { [newImage]: digestOf(newImage) }])
    expect(plan.images).toMatchObject([{ digest: digestOf(newImage), from: 'registry' }])
    await startRollout(deps, anOperator, { id })
    const pulled: unknown[] = []
    for (let turns = 0; turns < 100; turns++) {
      await world.tick()
      const open = await world.open()
      if (open.length === 0) break
      for (const command of open) {
        if (command.kind === 'tenant-box.prefetch') pulled.push((command.payload as { targets: unknown }).targets)
        await world.work(command)
      }
    }
    const synapse = { image: newImage, digest: digestOf(newImage) }
    expect(pulled).toEqual(fleet.map(() => ({ services: { synapse }, migrationsHead: '0000' })))
    expect((await world.show(id)).status).toBe('done')
  })

  test('that two hosts run are asked of nobody', async () => {
    const { world, plan } = await aWorld(await fresh())
    await world.started({ targetSlugs: fleet.slice(0, 2).map(({ slug }) => slug) })
    await world.settle()
    const { images } = await plan()
    expect(images).toEqual([{ image: newImage, digest: digestOf(newImage), from: 'fleet' }])
  })

  test('that one host runs are asked for, and another digest blocks the boxes', async () => {
    const { world, nextQuestion, tell, plan } = await aWorld(await fresh())
    await world.started({ targetSlugs: ['acme'] })
    await world.settle()
    const other = digestOf('another image')
    const planning = plan()
    const first = await nextQuestion()
    await tell(first, { [newImage]: other })
    await tell(await nextQuestion(first), { [newImage]: other })
    const { updates, boxes } = await planning
    expect(updates).toBe(0)
    expect(boxes.flatMap(({ findings }) => findings)).toContainEqual({
      severity: 'refuse',
      code: 'DIGEST_DISPUTED',
      message: expect.stringContaining(`(amsel runs ${digestOf(newImage)}; sperling: ${other})`),
    })
  })

  test('that one host cannot tell another is asked for, and only for those', async () => {
    const { deps, nextQuestion, tell, plan } = await aWorld(await fresh())
    await applyManifest(deps as never, anOperator, aManifest({ synapse: '1.163.2', postgres: '17.7' }))
    const planning = plan()
    const first = await nextQuestion(undefined, 'amsel')
    await tell(first, { [postgres]: digestOf(postgres), [newImage]: null })
    const second = await nextQuestion(first, 'sperling')
    await tell(second, { [postgres]: digestOf(postgres), [newImage]: digestOf(newImage) })
    const third = await nextQuestion(second)
    expect([third.hostId, payloadOf(third).images]).toEqual(['hst_drossel', [newImage]])
    await tell(third, { [newImage]: digestOf(newImage) })
    expect((await planning).images).toMatchObject([
      { askedFrom: 'amsel', confirmedBy: 'sperling' },
      { image: newImage, digest: digestOf(newImage), askedFrom: 'sperling', confirmedBy: 'drossel' },
    ])
  })

  test('are decided by no host alone: where two get different digests, their boxes are refused', async () => {
    const { deps, nextQuestion, tell, plan } = await aWorld(await fresh(), fleet.slice(0, 2))
    const planning = plan()
    const liar = await nextQuestion(undefined, 'amsel')
    await tell(liar, { [newImage]: digestOf('an old image with a known hole') })
    await tell(await nextQuestion(liar, 'sperling'), { [newImage]: digestOf(newImage) })
    const { images, boxes, updates, refusals } = await planning
    const why = `amsel: ${digestOf('an old image with a known hole')}; sperling: ${digestOf(newImage)}`
    expect(images).toEqual([])
    expect([updates, refusals]).toEqual([0, 2])
    expect(boxes[0]?.findings).toEqual([{ severity: 'refuse', code: 'DIGEST_DISPUTED', message: expect.stringContaining(why) }])
    const { id, digests } = await createRollout(deps, anOperator, wanted)
    expect(digests).toEqual({})
    await expect(startRollout(deps, anOperator, { id })).rejects.toMatchObject({ code: 'PLAN_REFUSED' })
  })

  test('that only one of two hosts resolves are a warning', async () => {
    const { nextQuestion, tell, plan } = await aWorld(await fresh(), fleet.slice(0, 2))
    const planning = plan()
    const first = await nextQuestion(undefined, 'amsel')
    await tell(first, { [newImage]: digestOf(newImage) })
    await tell(await nextQuestion(first), { [newImage]: null })
    const { images, boxes, updates } = await planning
    expect(images).toMatchObject([{ digest: digestOf(newImage), askedFrom: 'amsel', confirmedBy: null }])
    expect(updates).toBe(2)
    expect(boxes[1]?.findings).toEqual([
      {
        severity: 'warn',
        code: 'DIGEST_UNCONFIRMED',
        message: expect.stringMatching(/of beta: only amsel resolved it\. fix: tenantry manifest resolve/),
      },
    ])
  })

  test('that a single host resolves need no second one', async () => {
    const { nextQuestion, tell, plan } = await aWorld(await fresh(), fleet.slice(0, 1))
    const planning = plan()
    await tell(await nextQuestion(), { [newImage]: digestOf(newImage) })
    const { images, warnings } = await planning
    expect([images, warnings]).toEqual([[{ image: newImage, digest: digestOf(newImage), from: 'registry', askedFrom: 'amsel' }], 0])
  })

  test('that the manifest pins are asked of nobody and pulled by that digest', async () => {
    const { world, deps } = await aWorld(await fresh())
    const pinned = { [newImage]: digestOf('reviewed') }
    await applyManifest(deps as never, anOperator, { ...aManifest({ synapse: '1.163.2' }), digests: pinned })
    const { digests, plan } = await createRollout(deps, anOperator, wanted)
    expect([digests, plan.images]).toEqual([pinned, [{ image: newImage, digest: digestOf('reviewed'), from: 'manifest' }]])
    expect(await world.open()).toEqual([])
  })

  test('are decided by the first pull where no agent knows the question, no registry the tag, and no third host answers', async () => {
    const { world, nextQuestion, slept, tell, plan } = await aWorld(await fresh())
    const planning = plan()
    const first = await nextQuestion(undefined, 'amsel')
    await world.refuse(first.id, 'PROTOCOL_VERSION', 'this agent does not know the command: upgrade tenantry-agent')
    const second = await nextQuestion(first, 'sperling')
    await tell(second, { [newImage]: null })
    await nextQuestion(second)
    await slept()
    await world.clock.advance(5_000)
    const { images, boxes } = await planning
    const why =
      'amsel: this agent does not know the command: upgrade tenantry-agent; sperling: the registry has no such tag; drossel: no answer within 5 s'
    expect(images).toEqual([{ image: newImage, digest: null, from: 'first-pull', why, confirmedBy: null }])
    expect(boxes[0]?.images.synapse?.digest).toBeNull()
    expect(boxes[0]?.findings.map(({ code }) => code)).toEqual(['DIGEST_UNCONFIRMED'])
  })

  test('block the boxes where a registry says that they do not exist, and only where no host finds them', async () => {
    const { world, deps, nextQuestion, plan } = await aWorld(await fresh(), fleet.slice(0, 2))
    const missing = { code: 'IMAGE_NOT_FOUND', message: 'manifest unknown' }
    const away = { code: 'REGISTRY_UNAVAILABLE', message: 'connection refused' }
    const answer = async (question: Command, error: typeof missing | null) => {
      const digest = error === null ? digestOf(newImage) : null
      await world.answer(question.id, { images: [{ image: newImage, digest, error }] })
    }
    const planned = async (...errors: (typeof missing | null)[]) => {
      await world.clock.advance(11_000) // answers are reused for ten seconds
      await world.heartbeat()
      const planning = plan()
      let before: Command | undefined
      for (const [at, error] of errors.entries()) {
        before = await nextQuestion(before, ['amsel', 'sperling'][at])
        await answer(before, error)
      }
      return planning
    }
    expect(await planned(away, away)).toMatchObject({ updates: 2, refusals: 0, images: [{ image: newImage, from: 'first-pull' }] })
    const found = await planned(missing, null)
    expect(found).toMatchObject({ updates: 2, refusals: 0, images: [{ from: 'registry', askedFrom: 'sperling', missingOn: ['amsel'] }] })
    expect(found.boxes[0]?.findings).toContainEqual({
      severity: 'warn',
      code: 'IMAGE_NOT_FOUND',
      message:
        `sperling finds the image ${newImage} of acme, but amsel does not: pulls there may fail. ` +
        'fix: check the mirrors and accounts of amsel with `tenantry hosts registries list`',
    })
    const refused = await planned(missing, away)
    expect(refused).toMatchObject({ updates: 0, refusals: 2 })
    expect(refused.boxes[0]?.findings).toEqual([
      {
        severity: 'refuse',
        code: 'IMAGE_NOT_FOUND',
        message: expect.stringMatching(
          new RegExp(`${newImage} of acme does not exist \\(amsel: manifest unknown; sperling: connection refused\\)`),
        ),
      },
    ])
    const creating = createRollout(deps, anOperator, wanted)
    const { id } = await creating
    await expect(startRollout(deps, anOperator, { id })).rejects.toMatchObject({ code: 'PLAN_REFUSED' })
  })

  test('are asked of a second host where the first is silent, also on a clock that tells parts of milliseconds', async () => {
    const { world, deps, nextQuestion, slept, tell } = await aWorld(await fresh())
    const clock = { ...world.clock, monotonicMs: () => world.clock.monotonicMs() * 1.0001 }
    const planning = planStaged({ ...deps, askRegistries: askRegistries({ ...deps, clock }) }, { allowLongFence: false })
    const first = await nextQuestion(undefined, 'amsel')
    const second = await nextQuestion(first, 'sperling')
    await tell(second, { [newImage]: digestOf(newImage) })
    await slept()
    await world.clock.advance(5_000)
    const third = await nextQuestion(first, 'drossel')
    expect([third.hostId, payloadOf(third).withinMs]).toEqual(['hst_drossel', 3_499])
    await tell(third, { [newImage]: digestOf(newImage) })
    expect((await planning).plan.images).toMatchObject([{ digest: digestOf(newImage), askedFrom: 'sperling', confirmedBy: 'drossel' }])
  })

  test('hold up nobody for longer than ten seconds', async () => {
    const { world, deps, nextQuestion, slept } = await aWorld(await fresh())
    const began = world.clock.monotonicMs()
    const creating = createRollout(deps, anOperator, wanted)
    let before: Command | undefined
    for (let host = 0; host < 2; host++) {
      before = await nextQuestion(before)
      await slept()
      await world.clock.advance(5_000)
    }
    const { digests, plan } = await creating
    expect([digests, plan.updates, plan.images]).toMatchObject([
      {},
      fleet.length,
      [{ from: 'first-pull', why: expect.stringMatching(/no answer/) }],
    ])
    expect(world.clock.monotonicMs() - began).toBe(10_000)
  })

  test('are answered too late for what has happened meanwhile: the plan is of the fleet and the manifest as they are then', async () => {
    const { world, deps } = await aWorld(await fresh())
    const asking = async (images: readonly string[]) => {
      await applyManifest(deps as never, anOperator, aManifest({ synapse: '1.163.4' }))
      await world.clock.advance(4_000)
      return new Map(images.map((image) => [image, { digest: digestOf(image), host: 'amsel' }]))
    }
    const { plan, manifest } = await planStaged({ ...deps, askRegistries: asking }, { allowLongFence: false })
    expect([plan.manifestRevision, manifest]).toEqual([3, (await currentManifest(deps.db)).manifest])
    expect(plan.madeAt).toBe(world.clock.now().toISOString())
    expect(plan.images).toEqual([{ image: 'registry.example/synapse:v1.163.4', digest: null, from: 'first-pull' }])
  })

  test('are resolved for a manifest file by two hosts, whatever the fleet runs and whatever the file pins', async () => {
    const { deps, nextQuestion, tell } = await aWorld(await fresh(), fleet.slice(0, 2))
    const file = { ...aManifest({ synapse: '1.163.2' }), digests: { [newImage]: digestOf('before') } }
    const resolving = resolveManifest(deps, file)
    const first = await nextQuestion(undefined, 'amsel')
    const { images } = payloadOf(first)
    expect(images).toEqual(imagesOfManifest(parseManifest(file)))
    expect(images).toContain(newImage)
    const told = Object.fromEntries(images.map((image) => [image, digestOf(image)]))
    await tell(first, told)
    await tell(await nextQuestion(undefined, 'sperling'), { ...told, [newImage]: digestOf('another') })
    const resolved = await resolving
    expect(resolved.map(({ image }) => image)).toEqual(images)
    expect(resolved.filter(({ digest }) => digest === null)).toMatchObject([{ image: newImage, from: 'disputed' }])
    expect(resolved.find(({ image }) => image === file.images.edge)).toMatchObject({ askedFrom: 'amsel', confirmedBy: 'sperling' })
    await expect(resolveManifest(deps, { images: {} })).rejects.toMatchObject({ code: 'MANIFEST_INVALID' })
  })

  describe('of many plans', () => {
    const asked = async ({ db }: RolloutsDeps) =>
      (await db.selectFrom('commands').select('host_id').where('kind', '=', 'tenant-box.resolve_images').execute()).length
    const emergency = (deps: RolloutsDeps, toChatServer: string) => planEmergency(deps, { toChatServer })

    test('are asked for once, and again only when the answer is ten seconds old', async () => {
      const { world, deps, nextQuestion, tell, tellBoth, plan } = await aWorld(await fresh())
      const plans = [plan(), plan(), plan()]
      const first = await nextQuestion(undefined, 'amsel')
      const second = await nextQuestion(first, 'sperling')
      while (world.clock.sleepers() < 2 * plans.length) await new Promise((resolve) => setImmediate(resolve))
      await world.clock.advance(4_000)
      for (const question of [first, second]) await tell(question, { [newImage]: digestOf(newImage) })
      const known = [{ digest: digestOf(newImage), from: 'registry' }]
      for (const { images } of await Promise.all(plans)) expect(images).toMatchObject(known)
      await world.clock.advance(9_999)
      const { digests } = await createRollout(deps, anOperator, wanted)
      expect([digests, await asked(deps)]).toEqual([{ [newImage]: digestOf(newImage) }, 2])
      await world.clock.advance(1)
      const anew = plan()
      await tellBoth({ [newImage]: digestOf('moved') })
      expect((await anew).images).toMatchObject([{ digest: digestOf('moved') }])
    })

    test('leave a host its places for other questions: it is asked one thing after the other', async () => {
      const { world, deps, nextQuestion, tell } = await aWorld(await fresh())
      const versions = ['1.163.5', '1.163.6', '1.163.7']
      const plans = versions.map((version) => emergency(deps, version))
      let before: Record<string, Command> = {}
      const seen: string[] = []
      for (const _ of versions) {
        const [one, other] = [await nextQuestion(before.one, 'sperling'), await nextQuestion(before.other, 'drossel')]
        expect((await world.open()).map(({ hostId }) => hostId).toSorted()).toEqual(['hst_drossel', 'hst_sperling'])
        before = { one, other }
        for (const question of [one, other]) {
          const [image = ''] = payloadOf(question).images
          if (question === one) seen.push(image)
          await tell(question, { [image]: digestOf(image) })
        }
      }
      const images = (await Promise.all(plans)).flatMap(({ plan }) => plan.images?.map(({ image, digest }) => [image, digest]))
      expect(images).toEqual(versions.map((version) => `registry.example/synapse:v${version}`).map((image) => [image, digestOf(image)]))
      expect(seen.toSorted()).toEqual(images.map((one) => one?.[0]))
    })

    test('go on without what a host has no time for, and none waits for longer than ten seconds', async () => {
      const { world, deps, nextQuestion, slept } = await aWorld(await fresh(), [{ slug: 'acme', canary: true, host: 'amsel' }])
      const began = world.clock.monotonicMs()
      const first = emergency(deps, '1.163.5')
      await nextQuestion()
      await slept()
      const second = emergency(deps, '1.163.6')
      while (world.clock.sleepers() < 2) await new Promise((resolve) => setImmediate(resolve))
      await world.clock.advance(5_000)
      expect((await second).plan.images).toMatchObject([{ from: 'first-pull', why: 'amsel: busy with other plans' }])
      expect((await first).plan.images).toMatchObject([{ from: 'first-pull', why: 'amsel: no answer within 5 s' }])
      expect([world.clock.monotonicMs() - began, await asked(deps)]).toEqual([5_000, 1])
    })
  })

  describe('of an emergency', () => {
    const { approvalToken: token, ...order } = anOrder
    const asked = { approvalToken: secret(token), order, unknownFields: 0 }

    test('are asked for once, however often it is planned anew', async () => {
      const { deps } = await emergencyWorld(await fresh(), fleet)
      const questions: (readonly string[])[] = []
      const asking: RolloutsDeps['askRegistries'] = async (images) => {
        questions.push(images)
        return new Map(images.map((image) => [image, { digest: digestOf(image), host: 'amsel' }]))
      }
      const db = inBetween(deps.db, () => applyManifest(deps as never, anOperator, aManifest({ synapse: '1.163.3' })))
      const made = await createEmergency({ ...deps, db, askRegistries: asking }, anAdmin, asked)
      const image = 'registry.example/synapse:v1.163.4'
      expect([made.manifestRevision, questions, made.digests]).toEqual([3, [[image]], { [image]: digestOf(image) }])
    })

    test('keep it from nothing: where nobody answers it is made all the same', async () => {
      const { deps, clock } = await emergencyWorld(await fresh(), fleet)
      const creating = createEmergency({ ...deps, askRegistries: askRegistries(deps) }, anAdmin, asked)
      let made = false
      void creating.then(() => {
        made = true
      })
      const began = clock.monotonicMs()
      while (!made) {
        await new Promise((resolve) => setImmediate(resolve))
        if (clock.sleepers() > 0) await clock.advance(100)
      }
      expect(await creating).toMatchObject({ status: 'queued', digests: {}, plan: { images: [{ from: 'first-pull' }] } })
      expect(clock.monotonicMs() - began).toBeLessThanOrEqual(10_000)
    })
  })
})
