import { problem } from '../../core/kit/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { LocalBoxes } from './local-boxes.ts'

type Named = Readonly<{ slug: string; boxId: string; ownershipEpoch: number }>

/**
 * The box that a command names. Throws NOT_FOUND when this host has no such box, and LEASE_LOST when the command comes from
 * an owner before the present one. A higher epoch is taken over for good.
 */
export async function boxOfCommand(boxes: LocalBoxes, { slug, boxId, ownershipEpoch }: Named): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box || box.boxId !== boxId) throw problem('NOT_FOUND', `this host has no box ${slug} with the id ${boxId}`)
  refuseOlderOwner(box, ownershipEpoch)
  if (ownershipEpoch === box.ownershipEpoch) return box
  const raised = { ...box, ownershipEpoch }
  await boxes.put(raised)
  return raised
}

export function refuseOlderOwner(box: LocalBox, ownershipEpoch: number): void {
  if (ownershipEpoch < box.ownershipEpoch)
    throw problem('LEASE_LOST', `the box ${box.slug} has a newer owner (epoch ${box.ownershipEpoch}, the command says ${ownershipEpoch})`)
}
