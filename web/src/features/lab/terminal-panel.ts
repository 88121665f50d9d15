import { defineAsyncComponent, h } from 'vue'
import { networkFailure } from '../../api/failure.ts'
import FailureNotice from '../../components/FailureNotice.vue'
import SkeletonLines from '../../components/SkeletonLines.vue'
import { useMessages } from '../../i18n/index.ts'

/** The terminal, loaded when it is first opened. */
export const TerminalPanel = defineAsyncComponent({
  loader: () => import('../terminal/TerminalPanel.vue'),
  delay: 0,
  loadingComponent: () => h(SkeletonLines, { lines: 6, label: useMessages().value.terminal.loading }),
  errorComponent: ({ error }: { error: unknown }) => h(FailureNotice, { failure: networkFailure(error) }),
})
