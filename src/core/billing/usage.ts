type Counted = Readonly<{ users: number; reported: number }>

/** `alone`: users that no other subscription of the item can have reported. */
type Own = Counted & Readonly<{ alone: number }>

/**
 * The quantity to report on one day: users of the subscription that neither it nor another subscription of the item reported. A day that was
 * reported is replaced, so that the days of a month add up to its users, however often it is reported, and no user counts twice for an item.
 * An erased user is in `reported` alone: it must not hide one that only this subscription had.
 */
export const plannedQuantity = ({ own, item }: Readonly<{ own: Own; item: Counted }>): number =>
  Math.max(0, own.alone - own.reported, Math.min(own.users - own.reported, item.users - item.reported))

/** Costs of a period that its final invoice does not contain. `claimedCents`: charged separately before. */
export const missingCents = ({
  owedCents,
  invoicedCents,
  claimedCents,
}: Readonly<{ owedCents: number; invoicedCents: number; claimedCents: number }>): number =>
  Math.max(0, owedCents - invoicedCents - claimedCents)
