/** An image on a host, as far as it is asked whether it may go. */
type KeptImage = Readonly<{ names: readonly string[]; pulled: boolean; pinned: boolean; used: boolean; namedAt: string | null }>

type Rule<Image> = Readonly<{
  /** Whether a name is of a repository that this host may run. What else lies on it is none of ours. */
  isOurs(name: string): boolean
  /** Names that compose files of boxes hold: they may be started at any moment. */
  wanted(name: string): boolean
  /** ISO; who got a name since then may still be gone back to. */
  before: string
  images: readonly Image[]
}>

/**
 * The images that no box needs any more (SAFETY, update: disk is given back by retention). What cannot be pulled again stays, and so does
 * what nobody knows the age of, and what somebody else has a name for.
 */
export const unneededImages = <Image extends KeptImage>({ images, isOurs, wanted, before }: Rule<Image>): Image[] =>
  images.filter(
    ({ names, pulled, pinned, used, namedAt }) =>
      pulled && !pinned && !used && namedAt !== null && namedAt < before && names.length > 0 && names.every(isOurs) && !names.some(wanted),
  )
