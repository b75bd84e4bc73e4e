//! A table as text for a terminal: figures to the right, and no spaces behind the last column.

use comfy_table::{CellAlignment, Table};

/// The lines of a table, each ending with a newline. `figures` are the indices of the columns that
/// are aligned to the right.
pub(super) fn text_of(mut table: Table, figures: impl IntoIterator<Item = usize>) -> String {
    for index in figures {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines();
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}
