import type { z } from 'zod'
import {
  allocatePorts,
  type BoxCommandPayload,
  digestsFor,
  type Manifest,
  type ProbeRule,
  type ProvisionBody,
  portsFrom,
  targetImage,
  VersionedService,
} from '../../core/boxes/index.ts'
import { type Actor, problem } from '../../core/kit/index.ts'
import type { WithTx } from '../db/index.ts'
import type { BoxRecord } from './box-record.ts'
import { portsTaken } from './boxes.repo.ts'
import { currentManifest } from './manifests.ts'
import { type SetUp, type SetUpDeps, setUpBox } from './set-up-box.ts'

export type ProvisionDeps = SetUpDeps & Readonly<{ firstPort: number; probe: ProbeRule }>
type Input = z.output<typeof ProvisionBody>
type Kind = 'tenant-box.provision'

/** Beside the probes: pulling images and creating the database. */
const workMs = 60 * 60_000

/** Provisions a box on a host, with the manifest's versions unless overridden. */
export const provisionBox = (deps: ProvisionDeps, actor: Actor, input: Input) =>
  setUpBox(deps, actor, {
    input,
    setUp: {
      kind: 'tenant-box.provision',
      action: 'box.provision',
      deadlineMs: workMs + deps.probe.timeoutMs,
      place: async (tx, hostId) => {
        const first = allocatePorts(await portsTaken(tx, hostId), deps.firstPort).public
        return {
          ...nowhere,
          public_url: publicUrl(input),
          internal_url: `http://127.0.0.1:${portsFrom(first).platform}`,
          first_port: first,
        }
      },
      differenceOf: (begun) => {
        if (begun.ports === null) return 'adoption'
        if (begun.publicUrl !== publicUrl(input)) return `the public URL ${begun.publicUrl}`
        // The next attempt of a box that is not ready may have other versions.
        return begun.live ? otherVersions(begun, input.versions ?? {}) : undefined
      },
      isReplaceable: (begun) => begun.ports === null, // a failed adoption may be provisioned instead
      payload: (tx, box) => payloadOf({ ...deps, tx }, box, input),
    } satisfies SetUp<Kind>,
  })

const nowhere = { folder: null, project: null } as const

const publicUrl = ({ publicUrl: url, chatDomain }: Input): string => (url ?? `https://${chatDomain}`).replace(/\/+$/, '')

const otherVersions = ({ installed }: BoxRecord, versions: Overrides): string | undefined =>
  VersionedService.options.some((service) => versions[service] !== undefined && versions[service] !== installed[service])
    ? 'other versions'
    : undefined

async function payloadOf({ probe, tx }: WithTx<ProvisionDeps>, box: BoxRecord, input: Input): Promise<BoxCommandPayload<Kind>> {
  if (!box.ports) throw problem('CONFLICT', `box ${box.slug} has no ports: it was started as an adoption`)
  const { manifest } = await currentManifest(tx)
  const images = imagesOf(manifest, box, input.versions ?? {})
  return {
    slug: box.slug,
    boxId: box.id,
    ownershipEpoch: box.ownershipEpoch,
    chatDomain: box.chatDomain,
    publicUrl: box.publicUrl,
    images,
    digests: digestsFor(manifest, Object.values(images)),
    ports: box.ports,
    probe,
    migrationsHead: manifest.tiers[box.tier].migrationsHead,
  }
}

type Overrides = NonNullable<Input['versions']>

export function imagesOf(manifest: Manifest, { tier }: BoxRecord, versions: Overrides): BoxCommandPayload<Kind>['images'] {
  const tierVersions = { ...manifest.tiers[tier], ...definedOf(versions) }
  const tiers = { ...manifest.tiers, [tier]: tierVersions }
  const [postgres, synapse, minio] = VersionedService.options.map((service) => targetImage({ ...manifest, tiers }, tier, service))
  return { edge: manifest.images.edge, postgres, synapse, minio } as BoxCommandPayload<Kind>['images']
}

const definedOf = (versions: Overrides) => Object.fromEntries(Object.entries(versions).filter(([, version]) => version !== undefined))
