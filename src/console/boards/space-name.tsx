type Placed = Readonly<{ spaceId: string | null; spaceName: string | null }>

/** The space of a board or run by its name; the id is its title. */
export const SpaceName = ({ of: { spaceId, spaceName } }: Readonly<{ of: Placed }>) =>
  spaceId && <span title={spaceId}>{spaceName ?? spaceId}</span>
