import { api, makeQueryClient } from '../kit/index.ts'

export const queryClient = makeQueryClient()

/** Whose session this is. */
export const accountQuery = {
  queryKey: ['vendor', 'account'],
  queryFn: () => api.vendor.showVendorAccount(),
  ...{ staleTime: 60_000, retry: false },
} as const

/** After an act: what it changed is in several lists. A form that awaits it is not offered again with the old state. */
export const refresh = () => queryClient.invalidateQueries({ queryKey: ['vendor'] })
