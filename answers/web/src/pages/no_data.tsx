// SPDX-License-Identifier: Apache-2.0
// In the place of a page's figures: the reason why it has none.
import { page } from "../state";
import { reasonOf } from "./reasons";

export const NoData = () => <p class="note">{reasonOf(page.value)}</p>;
