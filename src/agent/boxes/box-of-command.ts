import { problem } from '../../core/kit/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { LocalBoxes } from './local-boxes.ts'

type Named = Readonly<{ slug: string; boxId: string; ownershipEpoch: number }>

/**
 * The box that a command names. Throws NOT_FOUND when this host has no such box, LEASE_LOST when the command comes from an owner before
 * the present one, and CONFLICT when the box was handed over, unless the command is one for such boxes. A higher epoch is taken over for good.
 */
export async function boxOfCommand(
  boxes: LocalBoxes,
  { slug, boxId, ownershipEpoch }: Named,
  { handedOver = 'refused' }: Readonly<{ handedOver?: 'refused' | 'welcome' }> = {},
): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box || box.boxId !== boxId) throw problem('NOT_FOUND', `this host has no box ${slug} with the id ${boxId}`)
  refuseOlderOwner(box, ownershipEpoch)
  if (box.handedOver && handedOver === 'refused')
    throw problem(
      'CONFLICT',
      `the box ${slug} was handed over by this host (${box.handedOver.at}): take it back or remove it here, or look for it on its new host`,
    )
  if (ownershipEpoch === box.ownershipEpoch) return box
  const raised = { ...box, ownershipEpoch }
  await boxes.put(raised)
  return raised
}

/** The box of a command that was admitted before, maybe in another life of the agent. Throws NOT_FOUND when it is gone since. */
export async function boxOfBegun(boxes: Pick<LocalBoxes, 'find'>, { slug }: Pick<Named, 'slug'>): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box) throw problem('NOT_FOUND', `this host has no box ${slug} any more`)
  return box
}

/**
 * What this host knows of a box that is to be made, adopted or brought here. A stack that was only observed under another id is one that the
 * registry has forgotten since, without a word to this host: it makes way. Throws LEASE_LOST, and ALREADY_EXISTS for another box of the name.
 */
export async function knownOf(boxes: Pick<LocalBoxes, 'find'>, { slug, boxId, ownershipEpoch }: Named): Promise<LocalBox | undefined> {
  const known = await boxes.find(slug)
  const isForgotten = known?.boxId !== boxId && !known?.managed && known?.ports === null
  if (!known || isForgotten) return undefined
  refuseOlderOwner(known, ownershipEpoch)
  if (known.boxId !== boxId) throw problem('ALREADY_EXISTS', `this host has another box named ${slug} (${known.boxId})`)
  return known
}

/** Throws BOX_NOT_MANAGED for a box that is only observed; `doing` is what would be done to it: updating, moving, restoring. */
export function needManaged({ slug, managed }: LocalBox, doing: string): void {
  if (!managed) throw problem('BOX_NOT_MANAGED', `the box ${slug} is only observed; complete its adoption before ${doing} it`)
}

export function refuseOlderOwner(box: LocalBox, ownershipEpoch: number): void {
  if (ownershipEpoch < box.ownershipEpoch)
    throw problem('LEASE_LOST', `the box ${box.slug} has a newer owner (epoch ${box.ownershipEpoch}, the command says ${ownershipEpoch})`)
}
