/**
 * The quantity to report on one day: users of the month that no other day reported. A day that was reported is replaced, so that the days of a
 * month add up to its users, however often it is reported.
 */
export const plannedQuantity = ({ users, reportedOnOtherDays }: Readonly<{ users: number; reportedOnOtherDays: number }>): number =>
  Math.max(0, users - reportedOnOtherDays)

/** Costs of a period that its final invoice does not contain. `claimedCents`: charged separately before. */
export const missingCents = ({
  owedCents,
  invoicedCents,
  claimedCents,
}: Readonly<{ owedCents: number; invoicedCents: number; claimedCents: number }>): number =>
  Math.max(0, owedCents - invoicedCents - claimedCents)
